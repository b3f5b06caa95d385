"""Large messages changed where they are: the same comes out as of a copy, and nothing else is touched."""

import json
import tracemalloc
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawft.errors import BadEnvelope, ParseError
from clawft.model import Kind
from clawft.wire import stateless
from clawft.wire.inplace import INPLACE_BYTES, enclosed
from clawft.wire.jsonrpc import reading, writing
from clawft.wire.jsonrpc.messages import Message, Response
from tests.props.shapes import OBJECTS, VALUES
from tests.requirements import requirement

pytestmark = requirement("QUAL-03")

SERVER = b'{"name":"weft","version":"1"}'


@given(st.binary(max_size=50), st.integers(0, 50), st.integers(0, 50), st.binary(max_size=60), st.binary(max_size=60))
def test_what_is_enclosed_is_what_a_copy_would_be(whole: bytes, start: int, end: int, head: bytes, tail: bytes) -> None:
    start, end = sorted((min(start, len(whole)), min(end, len(whole))))
    assert enclosed(BytesIO(whole), start, end, head, tail) == head + whole[start:end] + tail


def test_what_somebody_else_has_stays_as_it_is() -> None:
    whole = b"x" * INPLACE_BYTES
    theirs = [whole]
    assert enclosed(BytesIO(whole), 1, 3, b"<", b">") == b"<xx>"
    assert theirs == [b"x" * INPLACE_BYTES]


SIZE = 8 * INPLACE_BYTES


def picture() -> bytes:
    return b'{"content":[{"type":"image","data":"%b"}]}' % (b"x" * SIZE)


def _cut(room: BytesIO) -> bytes:
    return enclosed(room, 1, SIZE, b"head", b"tail")


def _finish(room: BytesIO) -> bytes:
    return stateless.finish_large(room, SERVER)


def _answer(room: BytesIO) -> bytes:
    with room:
        given = [room.getvalue()]
    return writing.result(b"1", given.pop())


@pytest.mark.parametrize(
    ("message", "work"),
    [
        (picture, _cut),
        (picture, _finish),
        (picture, _answer),
        (lambda: writing.result(b"1", picture()), reading.decode_large),
    ],
)
def test_it_is_there_once(message: Callable[[], bytes], work: Callable[[BytesIO], object]) -> None:
    """And not a second time while something is made of it."""
    tracemalloc.start()
    try:
        room = BytesIO(message())
        tracemalloc.reset_peak()
        assert work(room)
        assert tracemalloc.get_traced_memory()[1] < 1.5 * SIZE
    finally:
        tracemalloc.stop()


def test_an_answer_of_ours_is_the_same_as_a_short_one() -> None:
    assert writing.result(b"1", picture()) == b'{"jsonrpc":"2.0","id":1,"result":%b}' % picture()


# ── what is read ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(decode: Callable[[], Message]) -> Message | str:
    try:
        return decode()
    except (ParseError, BadEnvelope) as wrong:
        return f"{type(wrong).__name__} {wrong}"


def agrees(line: bytes) -> None:
    assert _read(lambda: reading.decode_large(BytesIO(line))) == _read(lambda: reading.decode(line))


SPELLINGS: list[dict[str, Any]] = [
    {"separators": (",", ":")},
    {},
    {"separators": (" ,", " : ")},
    {"ensure_ascii": False},
]
MEMBERS = st.lists(
    st.sampled_from(["jsonrpc", "id", "result", "error", "method", "params", "more"]), unique=True, min_size=1
)


@given(MEMBERS, st.integers(-1, 1 << 70) | st.text(max_size=3), OBJECTS | VALUES, st.sampled_from(SPELLINGS))
@example(["jsonrpc", "id", "result"], 7, {"result": {"id": 1}}, {})
def test_a_long_line_says_what_a_short_one_does(
    members: list[str], id: object, result: object, spelling: dict[str, Any]
) -> None:
    values = {"jsonrpc": "2.0", "id": id, "method": "x", "params": {}, "error": {"code": 1, "message": ""}}
    message = {name: values.get(name, result) for name in members}
    agrees(json.dumps(message, **spelling).encode("utf-8", "replace"))


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1},"result":{"b":2}}',
        b'{"result":{"a":1},"result":{"b":2},"jsonrpc":"2.0","id":1}',
        b'{"result":{"a":1},"jsonrpc":"2.0","id":1,"result":{"b":2}}',
        b'{"jsonrpc":"2.0","id":1,"result":1,"id":2,"result":22,"id":3}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1},"x":{"result":{"b":2}}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1},"id":2}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1},"error":{"code":1,"message":""}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1},"method":"x"}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1}} ',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1} }',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":\xff}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"result":"\\ud83d"}',
        b'{"jsonrpc":"2.0","result":{"a":1}}',
        b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"jsonrpc":"2.0","id":1,"result":[' + b"1," * 1_100_000 + b"1]}",
    ],
)
def test_nor_does_an_odd_one_say_anything_else(line: bytes) -> None:
    agrees(line)


def test_the_usual_ones_are_not_copied() -> None:
    """In the spelling of whoever writes most of them."""
    for head, tail in [
        (b'{"jsonrpc":"2.0","id":12,"result":', b"}"),
        (b'{"jsonrpc": "2.0", "id": 12, "result": ', b"}"),
        (b'{"result":', b',"jsonrpc":"2.0","id":12}'),
        (b'{"id":12,"jsonrpc":"2.0","result":', b"}"),
    ]:
        room = BytesIO(head + b'{"content":[]}' + tail)
        assert reading.decode_large(room) == Response(b"12", b'{"content":[]}')
        assert room.closed


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────


@given(OBJECTS, st.sampled_from(SPELLINGS), st.sampled_from(["", "_meta", "resultType", "\\u00"]))
def test_a_long_result_is_finished_like_a_short_one(result: dict[str, Any], spelling: dict[str, Any], key: str) -> None:
    payload = json.dumps({**result, key: {}} if key else result, **spelling).encode("utf-8", "replace")
    cache = stateless.cache_hint(5, "private")
    finished = stateless.finish_large(BytesIO(payload), SERVER, Kind.COMPLETE, cache)
    assert finished == stateless.finish_result(payload, SERVER, Kind.COMPLETE, cache)

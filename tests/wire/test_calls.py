"""The usual call read in one go says what the general reader says, or nothing."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clawft.errors import BadEnvelope, BadParams, ParseError
from clawft.gateway.dispatch import CallTarget, read_target
from clawft.wire.calls import read_usual
from clawft.wire.jsonrpc import reading
from clawft.wire.jsonrpc.messages import Request
from tests.props.shapes import IDS, OBJECTS, VALUES
from tests.requirements import requirement

USUAL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}'

SPACED = json.dumps(json.loads(USUAL)).encode()

SPELLINGS = [(",", ":"), (", ", ": ")]
METAS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.just("_meta"), OBJECTS)


def read_slowly(line: bytes) -> tuple[bytes, CallTarget] | None:
    try:
        request = reading.decode(line)
        return (request.id, read_target(request.method, request.params)) if isinstance(request, Request) else None
    except (ParseError, BadEnvelope, BadParams):
        return None


def agrees(line: bytes) -> bool:
    """True if it was read in one go at all."""
    read = read_usual(line)
    if read is not None:
        assert read_slowly(line) == (read.id, CallTarget("tools/call", read.name, read.arguments, read.meta))
    return read is not None


@requirement("WIRE-04")
@pytest.mark.parametrize("spelling", SPELLINGS)
@given(id=st.integers(0, 1 << 70), name=st.text("abc_-/", min_size=1), arguments=OBJECTS, meta=METAS)
def test_the_usual_is_read_in_one_go(
    spelling: tuple[str, str], id: int, name: str, arguments: dict[str, Any], meta: dict[str, Any]
) -> None:
    params = {"name": name, "arguments": arguments, **meta}
    message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    assert agrees(json.dumps(message, separators=spelling).encode())


@pytest.mark.parametrize(
    "line",
    [
        USUAL.replace(b'"id":7', b'"id":"7"'),
        USUAL.replace(b'"id":7', b'"id":7.0'),
        USUAL.replace(b'"id":7', b'"id":7,"id":8'),
        USUAL.replace(b'"name":"echo"', b'"name":"echo","name":"rm"'),
        USUAL.replace(b'"arguments":{', b'"arguments":{},"arguments":{'),
        USUAL.replace(b'{"text":"hi"}', b"[]"),
        USUAL.replace(b'{"text":"hi"}', b'{"text":"hi"},"task":{}'),
        USUAL.replace(b'"2.0"', b'"1.0"'),
        USUAL.replace(b'"tools/call"', b'"tools/list"'),
        USUAL.replace(b"hi", b"\xff"),
        USUAL.replace(b"hi", "é".encode()),
        USUAL.replace(b"echo", b"ec\\u0068o"),
        USUAL.replace(b",", b", "),
        USUAL.replace(b":", b": "),
        SPACED.replace(b'"id": 7', b'"id": 7 '),
        SPACED.replace(b'"id": 7', b'"id":7,"id":8').replace(b": ", b":", 1),
        USUAL.replace(b'"id":7', b'"id":7,"id": 10 '),
        USUAL.replace(b'"name":"echo"', b'"name":"","name":"echo"'),
        USUAL.replace(b'"id":7', b'"id":7,"\\u0069d":8')[:-1] + b"}",
        USUAL[:-1],
        USUAL + b"}",
        b'{"a":' * 5_000 + USUAL,
        b"",
    ],
)
def test_everything_else_is_left_to_the_general_reader(line: bytes) -> None:
    assert read_usual(line) is None


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(
    envelope=st.dictionaries(
        st.sampled_from(["jsonrpc", "id", "method", "params", "x"]), VALUES | IDS | st.just("tools/call")
    ),
    params=st.dictionaries(st.sampled_from(["name", "arguments", "_meta", "task"]), VALUES | OBJECTS),
)
@example(envelope={"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, params={"name": "a", "arguments": {}})
def test_they_never_disagree(spelling: tuple[str, str], envelope: dict[str, Any], params: dict[str, Any]) -> None:
    agrees(json.dumps({**envelope, "params": params}, separators=spelling).encode())


_more = st.sampled_from([b"", b" ", b"  ", b"   ", b'"id":1,', b'"\\u0069d":1,', b'"id" :1,', b'"name":"",', b'"x":0,'])


@requirement("WIRE-04")
@settings(max_examples=500)
@given(st.lists(st.tuples(st.integers(0, len(SPACED)), _more), max_size=3), st.booleans(), st.integers(0, 12))
def test_nor_where_blanks_and_keys_take_each_others_room(
    more: list[tuple[int, bytes]], spaced: bool, dropped: int
) -> None:
    line = SPACED if spaced else USUAL
    for at, piece in more:
        begin = max(line.rfind(b"{", 0, at), line.rfind(b",", 0, at)) + 1
        line = line[:begin] + piece + line[begin:]
    agrees(line.replace(b": ", b":", dropped))

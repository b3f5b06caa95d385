"""The usual call read in one go says what the general reader says, or nothing."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawft.errors import BadEnvelope, BadParams, ParseError
from clawft.gateway.dispatch import CallTarget, read_target
from clawft.wire.calls import read_usual
from clawft.wire.jsonrpc import reading
from clawft.wire.jsonrpc.messages import Request
from tests.props.shapes import IDS, OBJECTS, VALUES
from tests.requirements import requirement

USUAL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}'


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
@given(st.integers(0, 1 << 70), st.text("abc_-/", min_size=1), OBJECTS, METAS)
def test_the_usual_is_read_in_one_go(id: int, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> None:
    params = {"name": name, "arguments": arguments, **meta}
    message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    assert agrees(json.dumps(message, separators=(",", ":")).encode())


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
        USUAL[:-1],
        USUAL + b"}",
        b'{"a":' * 5_000 + USUAL,
        b"",
    ],
)
def test_everything_else_is_left_to_the_general_reader(line: bytes) -> None:
    assert read_usual(line) is None


@given(
    st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "x"]), VALUES | IDS | st.just("tools/call")),
    st.dictionaries(st.sampled_from(["name", "arguments", "_meta", "task"]), VALUES | OBJECTS),
)
@example({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, {"name": "a", "arguments": {}})
def test_they_never_disagree(envelope: dict[str, Any], params: dict[str, Any]) -> None:
    agrees(json.dumps({**envelope, "params": params}, separators=(",", ":")).encode())

"""A key that occurs twice is found, however the message is spelled."""

import json
from typing import Any

import pytest

from clawft.errors import BadEnvelope
from clawft.wire.jsonrpc.messages import Request
from clawft.wire.jsonrpc.reading import decode
from tests.requirements import requirement


@requirement("WIRE-01")
@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":2,"method":"x","params":{},"id":1}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "x", "method": "y"}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{},"params":{"a":1}}',
        b'{"jsonrpc":"2.0","id":1,"\\u006dethod":"x","method":"y"}',
        b'{"jsonrpc":"2.0","method":"x","method":"y"}',
    ],
)
def test_a_key_that_occurs_twice_is_refused(line: bytes) -> None:
    """Two readers could take it for two different messages."""
    with pytest.raises(BadEnvelope, match="twice"):
        decode(line)


@requirement("WIRE-01")
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" , ", " : ")])
def test_usual_and_unusual_spellings_are_read_alike(separators: tuple[str, str]) -> None:
    message: dict[str, Any] = {"method": "tools/call", "params": {"name": "a", "name2": {}}, "id": 1, "jsonrpc": "2.0"}
    read = decode(json.dumps(message, separators=separators).encode())
    assert isinstance(read, Request)
    assert (read.id, read.method, json.loads(read.params)) == (b"1", "tools/call", message["params"])

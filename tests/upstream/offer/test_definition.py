"""Definitions of tools: as they came wherever they can be read, mended where only a word is missing."""

import json

import msgspec
import pytest

from clawft.upstream.offer.definition import read_tool
from clawft.wire.jsonrpc import MAX_ERROR_BYTES, Failure
from tests.requirements import requirement


@requirement("SESS-09")
def test_a_good_definition_stays_byte_for_byte() -> None:
    wire = b'{ "name":"x",  "inputSchema": {"type" : "object"}, "z": [1,  2] }'
    assert read_tool(wire).wire == wire


@requirement("SESS-09")
@pytest.mark.parametrize("schema", [None, {}, {"properties": {}}])
def test_a_schema_without_its_type_gets_it(schema: object) -> None:
    tool = read_tool(json.dumps({"name": "x", "description": None, "inputSchema": schema}).encode())
    told = json.loads(tool.wire)
    assert told["inputSchema"]["type"] == "object"
    assert "description" not in told
    assert json.loads(tool.input_schema) == told["inputSchema"]


@requirement("SESS-09")
@pytest.mark.parametrize("member", ["inputSchema", "outputSchema", "icons", "_meta", "annotations"])
def test_what_strict_clients_cannot_read_is_no_definition(member: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_tool(json.dumps({"name": "x", member: "text"}).encode())


@requirement("QUAL-12")
def test_of_the_data_of_an_error_no_more_is_read_than_anybody_needs() -> None:
    data = b"[" + b"[]," * MAX_ERROR_BYTES + b"[]]"
    read = Failure(b"1", b'{"code":1,"message":"m","data":' + data + b"}").read()
    assert (read.message, read.error_data) == ("m", None)
    assert Failure(b"1", b'{"code":1,"message":"m","data":{"a":[1]}}').read().error_data == {"a": [1]}
    assert Failure(b"1", b'{"code":1,"message":"m"}').read().error_data is None

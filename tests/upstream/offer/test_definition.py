"""Definitions of tools: as they came wherever they can be read, mended where only a word is missing."""

import json
from typing import Any

import mcp_types
import msgspec
import pytest

from clawft.upstream.offer.definition import read_tool
from clawft.upstream.offer.list_reading import read_prompt, read_resource, read_template
from clawft.wire.jsonrpc.messages import MAX_ERROR_BYTES, Failure
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


INPUT: list[Any] = [
    "text",
    [],
    {"type": "array"},
    {"type": 5},
    {"properties": 5},
    {"properties": {"a": 5}},
    {"properties": {"a": [{}]}},
    {"required": "a"},
    {"required": [5]},
    {"$schema": 5},
    {"properties": {"a": {"default": 10**400}}},
]


@requirement("SESS-09")
@pytest.mark.parametrize("schema", INPUT)
def test_without_an_input_that_strict_clients_can_read_it_is_no_definition(schema: Any) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_tool(json.dumps({"name": "x", "inputSchema": schema}).encode())


@requirement("SESS-09")
def test_what_is_said_to_be_nothing_is_not_there() -> None:
    schema = {"type": "object", "properties": None, "required": None, "additionalProperties": False}
    tool = read_tool(json.dumps({"name": "x", "inputSchema": schema}).encode())
    assert json.loads(tool.input_schema) == {"type": "object", "additionalProperties": False}


WRONG: dict[str, list[Any]] = {
    "title": [5, {}],
    "description": [5, []],
    "icons": ["text", {}, 5],
    "_meta": ["text", [], 5],
    "annotations": ["text", [], 5],
    "execution": ["text", 5],
    "outputSchema": ["text", [], {"type": "banana"}, {"properties": 5}],
}


@requirement("SESS-09")
@pytest.mark.parametrize("member", WRONG)
def test_a_member_that_is_wrong_and_need_not_be_there_is_left_out(member: str) -> None:
    kept = {"name": "x", "inputSchema": {"type": "object"}, "new": None, "newer": 5}
    for wrong in WRONG[member]:
        told = json.loads(read_tool(json.dumps({**kept, member: wrong}).encode()).wire)
        assert told == {key: value for key, value in kept.items() if value is not None}


@requirement("SESS-09")
def test_of_what_has_members_itself_the_good_ones_stay() -> None:
    told: Any = {
        "name": "x",
        "inputSchema": {"type": "object"},
        "icons": [{"src": "a", "sizes": "48x48"}, {"sizes": ["x"]}, 5],
        "annotations": {"title": None, "readOnlyHint": True, "openWorldHint": "no"},
        "execution": {"taskSupport": "perhaps"},
    }
    tool = read_tool(json.dumps(told).encode(), "handshake")
    kept = json.loads(tool.wire)
    assert kept["icons"] == [{"src": "a"}]
    assert kept["annotations"] == {"readOnlyHint": True}
    assert kept["execution"] == {}
    assert tool.annotations.read_only_hint
    assert tool.annotations.open_world_hint
    assert tool.task == "forbidden"
    mcp_types.Tool.model_validate(kept)


@requirement("SESS-09")
def test_resources_and_prompts_are_mended_alike() -> None:
    regard = {"audience": ["user", "all"], "priority": 0.5, "lastModified": "yesterday"}
    told: Any = {"uri": "a:b", "name": "n", "size": "big", "annotations": regard, "_meta": None, "new": {}}
    kept: Any = {"uri": "a:b", "name": "n", "annotations": {"priority": 0.5}, "new": {}}
    assert json.loads(read_resource(json.dumps(told).encode()).raw) == kept
    del told["uri"], kept["uri"]
    read = read_template(json.dumps({**told, "uriTemplate": "a:{b}"}).encode())
    assert json.loads(read.raw) == {**kept, "uriTemplate": "a:{b}"} | {"size": "big"}
    prompt = {"name": "n", "icons": 5, "arguments": [{"name": "a", "title": 5, "required": "yes"}, {"title": "b"}]}
    assert json.loads(read_prompt(json.dumps(prompt).encode()).raw) == {"name": "n", "arguments": [{"name": "a"}]}
    for read_one in (read_resource, read_template, read_prompt):
        with pytest.raises(msgspec.DecodeError):
            read_one(b'{"title":"x"}')


@requirement("QUAL-12")
def test_of_the_data_of_an_error_no_more_is_read_than_anybody_needs() -> None:
    data = b"[" + b"[]," * MAX_ERROR_BYTES + b"[]]"
    read = Failure(b"1", b'{"code":1,"message":"m","data":' + data + b"}").read()
    assert (read.message, read.error_data) == ("m", None)
    assert Failure(b"1", b'{"code":1,"message":"m","data":{"a":[1]}}').read().error_data == {"a": [1]}
    assert Failure(b"1", b'{"code":1,"message":"m"}').read().error_data is None

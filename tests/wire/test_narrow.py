"""What callers of older revisions get, by the table of the protocol reference."""

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from clawft.model import Era
from clawft.wire import narrow
from clawft.wire.revisions import REVISIONS
from tests.requirements import requirement

TOOL: dict[str, Any] = {
    "name": "t",
    "title": "T",
    "description": "d",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "icons": [{"src": "data:"}],
    "execution": {"taskSupport": "optional"},
    "_meta": {"vendor/k": 1},
    "x-future": [1.10],
}
ALWAYS = {"name", "description", "inputSchema", "_meta", "x-future"}


@requirement("RES-13")
@pytest.mark.parametrize(
    ("revision", "more"),
    [
        ("2024-11-05", set[str]()),
        ("2025-03-26", {"annotations"}),
        ("2025-06-18", {"annotations", "title", "outputSchema"}),
        ("2025-11-25", {"annotations", "title", "outputSchema", "icons", "execution"}),
        ("2026-07-28", {"annotations", "title", "outputSchema", "icons"}),
    ],
)
def test_a_definition_has_what_its_reader_knows_and_all_unknown_keys(revision: str, more: set[str]) -> None:
    narrowed = json.loads(narrow.definition(json.dumps(TOOL).encode(), REVISIONS[revision]))
    assert narrowed == {key: value for key, value in TOOL.items() if key in ALWAYS | more}


@requirement("RES-13", "WIRE-21")
def test_a_definition_without_anything_new_is_the_same_bytes() -> None:
    wire = b'{ "name":"t", "inputSchema":{"type":"object","maximum":1.10} }'
    assert narrow.definition(wire, REVISIONS["2024-11-05"]) is wire


RESULT = b"""{"content":[
 {"type":"text","text":"a","n":1.10},
 {"type":"audio","data":"AAAA","mimeType":"audio/wav"},
 {"type":"resource_link","uri":"file:///x","name":"x"},
 {"type":"widget","big":123456789012345678901234567890}],
 "structuredContent":{"k":1},"isError":false,"x-future":{}}"""


@requirement("RES-13", "WIRE-18", "S2-P1-07")
@pytest.mark.parametrize(
    ("revision", "kinds", "structured"),
    [
        ("2024-11-05", ["text", "text", "text", "widget"], False),
        ("2025-03-26", ["text", "audio", "text", "widget"], False),
        ("2025-06-18", ["text", "audio", "resource_link", "widget"], True),
        ("2025-11-25", ["text", "audio", "resource_link", "widget"], True),
        ("2026-07-28", ["text", "audio", "resource_link", "widget"], True),
    ],
)
def test_a_result_for_each_revision(revision: str, kinds: list[str], structured: bool) -> None:
    known = REVISIONS[revision]
    narrowed = narrow.result(RESULT, known) if narrow.is_needed(known) else RESULT
    read = json.loads(narrowed)
    assert [block["type"] for block in read["content"]] == kinds
    assert ("structuredContent" in read) is structured
    assert "x-future" in read
    assert b"1.10" in narrowed
    assert b"123456789012345678901234567890" in narrowed


@requirement("RES-13")
def test_what_is_left_out_is_said_in_text() -> None:
    read = json.loads(narrow.result(RESULT, REVISIONS["2024-11-05"]))
    assert "audio/wav" in read["content"][1]["text"]
    assert read["content"][2]["text"] == "x: file:///x"


@requirement("RES-13")
@pytest.mark.parametrize(
    "odd",
    [
        b"{}",
        b'{"content":null}',
        b'{"content":5}',
        b'{"content":["a",1,{"type":{"x":1}}]}',
        b'{"content":[{"n":1e400}]}',
        b"[]",
    ],
)
def test_what_is_no_tool_result_passes(odd: bytes) -> None:
    assert json.loads(narrow.result(odd, REVISIONS["2024-11-05"])) == json.loads(odd)


@requirement("RES-13")
@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {"anyOf": [{"type": "object"}]}, {"type": ["object", "null"]}, True]
)
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_schema_that_promises_no_object_is_for_stateless_callers_only(revision: str, schema: Any) -> None:
    narrowed = json.loads(
        narrow.definition(json.dumps({"name": "t", "outputSchema": schema}).encode(), REVISIONS[revision])
    )
    assert ("outputSchema" in narrowed) is (revision == "2026-07-28")


@requirement("RES-13")
@pytest.mark.parametrize(("revision", "titled"), [("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", True)])
def test_titles_of_a_prompts_arguments(revision: str, titled: bool) -> None:
    wire = b'{"name":"p","arguments":[{"name":"a","title":"A","x":1.10},{"name":"b"}]}'
    narrowed = narrow.definition(wire, REVISIONS[revision])
    assert ("title" in json.loads(narrowed)["arguments"][0]) is titled
    assert b"1.10" in narrowed
    odd = b'{"name":"p","arguments":[1,"title"]}'
    assert json.loads(narrow.definition(odd, REVISIONS[revision])) == json.loads(odd)


@requirement("RES-13")
def test_structure_that_is_left_out_is_told_in_text_unless_it_was_told_already() -> None:
    old = REVISIONS["2025-03-26"]
    assert json.loads(narrow.result(b'{"structuredContent":{"n":1.10}}', old)) == {
        "content": [{"type": "text", "text": '{"n":1.10}'}]
    }
    told = b'{"content":[{"type":"text","text":"n is 1"}],"structuredContent":{"n":1}}'
    assert json.loads(narrow.result(told, old)) == {"content": [{"type": "text", "text": "n is 1"}]}


@requirement("RES-13")
@pytest.mark.parametrize(("structured", "unknown"), [(b"[1]", True), (b"null", True), (b'"a"', True), (b"{}", False)])
def test_structure_that_is_no_object(structured: bytes, unknown: bool) -> None:
    assert narrow.is_unknown_structure(Raw(structured)) is unknown
    without = narrow.without_structure({"content": Raw(b"[]"), "structuredContent": Raw(structured), "k": Raw(b"1")})
    assert json.loads(msgspec.json.encode(without)) == {
        "k": 1,
        "content": [{"type": "text", "text": structured.decode()}],
    }


@requirement("RES-13")
def test_a_prompt_has_blocks_its_reader_knows() -> None:
    prompt = json.dumps(
        {
            "messages": [
                {"role": "user", "content": {"type": "resource_link", "uri": "file:///x", "name": "x"}},
                {"role": "user", "content": {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}, "k": 1},
                {"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
            ],
            "x-future": 1,
        }
    ).encode()
    read = json.loads(narrow.prompt(prompt, REVISIONS["2024-11-05"]))
    assert [message["content"]["type"] for message in read["messages"]] == ["text", "text", "image"]
    assert (read["messages"][1]["k"], read["x-future"]) == (1, 1)
    assert narrow.prompt(b'{"messages":5}', REVISIONS["2024-11-05"]) == b'{"messages":5}'


@requirement("RES-13")
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_schema_that_is_no_object_is_spelled_out_for_earlier_clients(revision: str) -> None:
    schema = {"type": "object", "properties": {"any": True, "no": False, "one": {"default": True}}}
    told = {"name": "t", "inputSchema": schema}
    narrowed = json.loads(narrow.definition(json.dumps(told).encode(), REVISIONS[revision]))
    spelled: Any = {"any": {}, "no": {"not": {}}, "one": {"default": True}}
    is_stateless = REVISIONS[revision].era is Era.STATELESS
    assert narrowed["inputSchema"] == (schema if is_stateless else {**schema, "properties": spelled})

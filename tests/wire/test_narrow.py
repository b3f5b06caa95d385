"""What callers of older revisions get, by the table of the protocol reference."""

import json
from typing import Any

import pytest

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

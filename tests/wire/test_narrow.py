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


# ── a census: every kind, every member, every revision ───────────────────────────────────────────────────────────────

SINCE: dict[str, dict[str, str]] = {
    "tool": {"annotations": "2025-03-26", "title": "2025-06-18", "outputSchema": "2025-06-18", "icons": "2025-11-25"},
    "resource": {"title": "2025-06-18", "icons": "2025-11-25"},
    "template": {"title": "2025-06-18", "icons": "2025-11-25"},
    "prompt": {"title": "2025-06-18", "icons": "2025-11-25"},
    "resource_link": {"icons": "2025-11-25"},
}
"""Members that came later than the kind they belong to, and with which revision."""
HINTS = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}
OFFERED: dict[str, dict[str, Any]] = {
    "tool": {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}, "_meta": {}},
    "resource": {"uri": "a://b", "name": "r", "mimeType": "text/plain", "size": 5, "_meta": {}},
    "template": {"uriTemplate": "a://{b}", "name": "r", "mimeType": "text/plain", "_meta": {}},
    "prompt": {"name": "p", "_meta": {}},
}
BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"text": "a"},
    "image": {"data": "AAAA", "mimeType": "image/png"},
    "audio": {"data": "AAAA", "mimeType": "audio/wav"},
    "resource": {"resource": {"uri": "a://b", "text": "a", "_meta": {}}},
    "resource_link": {"uri": "a://b", "name": "r", "title": "R", "icons": [{"src": "data:,"}], "size": 5},
}
BLOCK_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
ORDER = list(REVISIONS)


def is_known(since: str, revision: str) -> bool:
    return ORDER.index(since) <= ORDER.index(revision)


@requirement("RES-13")
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("kind", OFFERED)
def test_each_member_of_each_definition(kind: str, revision: str) -> None:
    whole = {**OFFERED[kind], "title": "T", "description": "d", "annotations": HINTS, "icons": [{"src": "data:,"}]}
    known = {key: value for key, value in whole.items() if is_known(SINCE[kind].get(key, ORDER[0]), revision)}
    assert json.loads(narrow.definition(json.dumps(whole).encode(), REVISIONS[revision])) == known


@requirement("RES-13")
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("kind", BLOCKS)
def test_each_member_of_each_block_of_a_result_and_of_a_prompt(kind: str, revision: str) -> None:
    block = {"type": kind, **BLOCKS[kind], "annotations": HINTS, "_meta": {"vendor/k": 1}}
    kept = {key: value for key, value in block.items() if is_known(SINCE.get(kind, {}).get(key, ORDER[0]), revision)}
    known = REVISIONS[revision]
    result = json.dumps({"content": [block]}, separators=(",", ":")).encode()
    prompt = json.dumps({"messages": [{"role": "user", "content": block}]}, separators=(",", ":")).encode()
    if narrow.is_needed(known):
        result, prompt = narrow.result(result, known), narrow.prompt(prompt, known)
    for found in (json.loads(result)["content"][0], json.loads(prompt)["messages"][0]["content"]):
        if is_known(BLOCK_SINCE.get(kind, ORDER[0]), revision):
            assert found == kept
        else:
            assert found.keys() == {"type", "text"}


@requirement("RES-13")
def test_a_result_without_icons_is_the_same_bytes_for_callers_that_know_none() -> None:
    told = b'{"content":[{"type":"resource_link","uri":"a://b","name":"r"}, {"type":"text","text":"\\"icons\\""}]}'
    assert narrow.result(told, REVISIONS["2025-06-18"]) is told


@requirement("RES-13")
@pytest.mark.parametrize("revision", REVISIONS)
def test_what_a_model_is_to_read(revision: str) -> None:
    audio, text = {"type": "audio", **BLOCKS["audio"]}, {"type": "text", "text": "a"}
    messages = [{"role": "user", "content": [text, audio]}, {"role": "assistant", "content": text}]
    told = narrow.sampling({"messages": messages, "maxTokens": 5}, REVISIONS[revision])
    assert told["maxTokens"] == 5
    if is_known("2025-11-25", revision):
        assert told["messages"] == messages
        return
    assert [message["role"] for message in told["messages"]] == ["user", "user", "assistant"]
    kinds = [message["content"]["type"] for message in told["messages"]]
    assert kinds == ["text", "audio" if is_known("2025-03-26", revision) else "text", "text"]

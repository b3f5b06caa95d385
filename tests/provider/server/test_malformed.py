"""Answers that are not what they say: whatever passes is what the official types read, and the rest is told."""

import json
from typing import Any

import mcp_types
import pytest
from pydantic import ValidationError

from clawft.errors import ProtocolFailure
from clawft.provider.server import relay
from tests.requirements import requirement

PADDING = {"type": "text", "text": "x" * 300_000}
"""Makes an answer so long that it is not worked on where it arrives."""

BLOCKS: list[Any] = [
    {"type": "text", "text": "x"},
    {"type": "text", "text": 'a "quoted" word'},
    {"type": "text", "text": ""},
    {"type": "text", "text": "x", "annotations": {"audience": ["user"], "priority": 1, "lastModified": "now"}},
    {"type": "text", "text": "x", "annotations": None},
    {"type": "image", "data": "QUJD", "mimeType": "image/png"},
    {"type": "audio", "data": "QUJD", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "a:b", "name": "x"},
    {"type": "resource", "resource": {"uri": "a:b", "text": ""}},
    {"type": "resource", "resource": {"uri": "a:b", "blob": "QUJD"}},
]
MALFORMED: list[Any] = [
    {},
    [],
    7,
    "x",
    None,
    {"text": "x"},
    {"type": None, "text": "x"},
    {"type": 3, "text": "x"},
    {"type": "text"},
    {"type": "text", "text": 5},
    {"type": "text", "text": None},
    {"type": "text", "text": ["x"]},
    {"type": "text", "text": {"text": "x"}},
    {"type": "text", "text": "x", "annotations": "loud"},
    {"type": "text", "text": "x", "annotations": {"priority": "high"}},
    {"type": "text", "text": "x", "annotations": {"priority": 9}},
    {"type": "text", "text": "x", "annotations": {"audience": ["everybody"]}},
    {"type": "image", "data": "QUJD"},
    {"type": "image", "data": 7, "mimeType": "image/png"},
    {"type": "image", "mimeType": "image/png"},
    {"type": "audio", "mimeType": "audio/wav"},
    {"type": "audio", "data": None, "mimeType": "audio/wav"},
    {"type": "resource"},
    {"type": "resource", "resource": {}},
    {"type": "resource", "resource": "x"},
    {"type": "resource", "resource": {"uri": "a:b"}},
    {"type": "resource", "resource": {"uri": "a:b", "text": 3}},
    {"type": "resource", "resource": {"uri": "a:b", "blob": []}},
    {"type": "resource_link", "name": "x"},
    {"type": "resource_link", "uri": "a:b"},
]
UNKNOWN: list[Any] = [{"type": "hologram"}, {"type": "tool_use", "id": "1", "name": "x", "input": {}}]

CONTENTS: list[Any] = [[{"uri": "a:b", "text": "x"}], [{"uri": "a:b", "blob": "QUJD"}], []]
NO_CONTENTS: list[Any] = [
    None,
    "x",
    {},
    ["x"],
    [{"text": "x"}],
    [{"uri": "a:b"}],
    [{"uri": "a:b", "text": 4}],
    [{"uri": "a:b", "blob": 4}],
    [{"uri": 4, "text": "x"}],
]
MESSAGES: list[Any] = [
    [],
    *([{"role": "user", "content": block}] for block in BLOCKS),
]
NO_MESSAGES: list[Any] = [
    None,
    "x",
    {},
    ["x"],
    [{"role": "system", "content": BLOCKS[0]}],
    [{"content": BLOCKS[0]}],
    [{"role": "user"}],
    [{"role": "user", "content": "x"}],
    [{"role": "user", "content": [BLOCKS[0]]}],
    *([{"role": "assistant", "content": block}] for block in MALFORMED),
]


def wire(members: dict[str, Any], *, compact: bool = True) -> bytes:
    return json.dumps(members, separators=(",", ":") if compact else None).encode()


@requirement("PROV-16", "QUAL-03")
@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_blocks_that_the_official_types_read_pass_as_they_came(block: Any, stateless: bool) -> None:
    for content in ([block], [block, block], [block, *UNKNOWN], [block, PADDING]):
        for compact in (True, False):
            result = wire({"content": content}, compact=compact)
            assert json.loads(relay.reply_of(result, stateless=stateless).result) == json.loads(result)
    mcp_types.CallToolResult.model_validate({"content": [block]})


@requirement("PROV-16", "QUAL-03")
@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("block", MALFORMED)
def test_a_malformed_block_is_told_instead_of_spoiling_the_whole_answer_for_the_client(
    block: Any, stateless: bool
) -> None:
    for content in ([block], [BLOCKS[0], block], [*UNKNOWN, block], [block, PADDING]):
        with pytest.raises(ProtocolFailure, match="its content is malformed"):
            relay.reply_of(wire({"content": content}), stateless=stateless)


@requirement("PROV-16", "QUAL-03")
def test_the_official_types_read_none_of_them() -> None:
    """But a text without its type, which they take for one and others do not."""
    for block in MALFORMED:
        if block != {"text": "x"}:
            with pytest.raises(ValidationError):
                mcp_types.CallToolResult.model_validate({"content": [block]})


@requirement("PROV-16", "QUAL-03")
@pytest.mark.parametrize("stateless", [False, True])
def test_so_are_prompts_and_resources(stateless: bool) -> None:
    tried = (
        ("resources/read", "contents", CONTENTS, NO_CONTENTS, mcp_types.ReadResourceResult),
        ("prompts/get", "messages", MESSAGES, NO_MESSAGES, mcp_types.GetPromptResult),
    )
    for method, member, fine, malformed, official in tried:
        for value in fine:
            answer = wire({member: value})
            assert relay.answer_of(method, answer, stateless=stateless) == answer
            official.model_validate({member: value})
        for answer in (b"{}", b"[]", *(wire({member: value}) for value in malformed)):
            with pytest.raises(ProtocolFailure, match=f"its answer to {method} is malformed"):
                relay.answer_of(method, answer, stateless=stateless)
    assert relay.answer_of("prompts/get", b'{"messages":[{"role":"user","content":{"type":"new"}}]}', stateless=False)


@requirement("QUAL-03")
def test_what_is_told_of_it_is_short() -> None:
    long = {"type": "text", "text": "x", "annotations": {"audience": ["e" * 100_000]}}
    with pytest.raises(ProtocolFailure) as told:
        relay.reply_of(wire({"content": [long]}), stateless=False)
    assert len(str(told.value)) < 2 * relay.MAX_FLAW_CHARS

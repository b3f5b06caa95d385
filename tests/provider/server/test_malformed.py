"""Answers that are not what they say: whatever passes is what the official types read, and the rest is told."""

import json
from typing import Any

import mcp_types
import pytest
from pydantic import ValidationError

from clawft.errors import JsonRpcFailure, ProtocolFailure
from clawft.provider.server import relay
from clawft.provider.server.call.refusal import passed_on
from clawft.wire import shapes
from clawft.wire.readable import MAX_ANSWER_LEVELS, MAX_DIGITS
from tests.requirements import requirement

PADDING = {"type": "text", "text": "x" * 300_000}
"""Makes an answer so long that it is not worked on where it arrives."""

BLOCKS: list[Any] = [
    {"type": "text", "text": "x"},
    {"type": "text", "text": 'a "quoted" word'},
    {"type": "text", "text": ""},
    {"type": "text", "text": "x", "annotations": {"audience": ["user"], "priority": 1}},
    {"type": "text", "text": "x", "annotations": {"lastModified": "2026-02-28T12:00:00Z"}, "_meta": {"a": None}},
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
LINK = {"type": "resource_link", "uri": "a:b", "name": "x"}
TEXT = {"type": "text", "text": "x"}
MENDED: list[tuple[Any, Any]] = [
    ({**TEXT, "annotations": None}, TEXT),
    ({**TEXT, "annotations": "loud"}, TEXT),
    (
        {**TEXT, "annotations": {"priority": "high", "audience": ["user"]}},
        {**TEXT, "annotations": {"audience": ["user"]}},
    ),
    ({**TEXT, "annotations": {"priority": 9}}, {**TEXT, "annotations": {}}),
    ({**TEXT, "annotations": {"audience": ["everybody"]}}, {**TEXT, "annotations": {}}),
    ({**TEXT, "annotations": {"lastModified": "2025-01-12T15:00:58"}}, {**TEXT, "annotations": {}}),
    ({**TEXT, "_meta": []}, TEXT),
    ({**LINK, "title": 5, "size": 1.5, "mimeType": {}, "description": None, "icons": 7}, LINK),
    ({**LINK, "icons": [{"src": "x", "theme": "auto"}, {}]}, {**LINK, "icons": [{"src": "x"}]}),
    (
        {"type": "resource", "resource": {"uri": "a:b", "text": "x", "mimeType": 3, "_meta": 4, "new": 5}},
        {"type": "resource", "resource": {"uri": "a:b", "text": "x", "new": 5}},
    ),
]
"""What comes, and what the client gets of it."""
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
@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize(("block", "kept"), MENDED)
def test_a_member_that_need_not_be_there_and_is_wrong_is_left_out(block: Any, kept: Any, stateless: bool) -> None:
    for others in ([], [PADDING], UNKNOWN):
        reply = relay.reply_of(wire({"content": [block, *others]}), stateless=stateless)
        assert json.loads(reply.result) == {"content": [kept, *others]}
    mcp_types.CallToolResult.model_validate({"content": [kept]})
    told = wire({"messages": [{"role": "user", "content": block, "new": 1}]})
    prompt = json.loads(relay.answer_of("prompts/get", told, stateless=stateless))
    assert prompt == {"messages": [{"role": "user", "content": kept, "new": 1}]}


@requirement("PROV-16", "QUAL-03")
def test_so_is_one_of_the_whole_answer() -> None:
    tool = wire({"content": [], "_meta": 7, "isError": None, "structuredContent": None, "new": None})
    assert json.loads(relay.reply_of(tool, stateless=False).result) == {"content": [], "new": None}
    assert json.loads(relay.reply_of(tool, stateless=True).result) == {
        "content": [],
        "structuredContent": None,
        "new": None,
    }
    prompt = wire({"messages": [], "_meta": "x", "description": 5})
    assert json.loads(relay.answer_of("prompts/get", prompt, stateless=False)) == {"messages": []}
    read = wire({"contents": [{"uri": "a:b", "text": "x", "mimeType": 5}], "ttlMs": "long", "cacheScope": "all"})
    kept = {"contents": [{"uri": "a:b", "text": "x"}]}
    assert json.loads(relay.answer_of("resources/read", read, stateless=False)) == kept


@requirement("PROV-16", "QUAL-03")
@pytest.mark.parametrize("said", [0, 1, "", "true", [], {}])
@pytest.mark.parametrize("stateless", [False, True])
def test_whether_it_failed_is_not_guessed(said: Any, stateless: bool) -> None:
    with pytest.raises(ProtocolFailure, match="its isError is neither true nor false"):
        relay.reply_of(wire({"content": [], "isError": said}), stateless=stateless)


@requirement("PROV-16", "RES-13")
@pytest.mark.parametrize("stateless", [False, True])
def test_structure_that_older_agents_do_not_know_is_said_in_text(stateless: bool) -> None:
    told = wire({"content": [], "structuredContent": [1]})
    assert json.loads(relay.reply_of(told, stateless=stateless).result) == json.loads(told)
    reply = relay.reply_of(told, stateless=stateless, older=True)
    assert json.loads(reply.result) == {"content": [{"type": "text", "text": "[1]"}]}


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
    long = {"messages": [{"role": "e" * 100_000, "content": BLOCKS[0]}]}
    with pytest.raises(ProtocolFailure) as told:
        relay.answer_of("prompts/get", wire(long), stateless=False)
    assert len(str(told.value)) < 2 * shapes.MAX_FLAW_CHARS


@pytest.mark.parametrize(
    "told",
    [
        {"resultType": "input_required", "inputRequests": {"k": {"method": "roots/list"}}, "requestState": "s"},
        {"resultType": "task", "taskId": "t", "status": "working"},
        {"resultType": 5},
        {"task": {"taskId": "t", "status": "working", "ttl": 1000}},
    ],
)
def test_what_only_another_revision_has_is_no_empty_result(told: dict[str, Any]) -> None:
    with pytest.raises(ProtocolFailure, match=r"a result of the kind|a task in place of a result"):
        relay.reply_of(json.dumps(told).encode(), stateless=False)


@pytest.mark.parametrize("more", [{"resultType": "input_required"}, {"task": {"taskId": "t"}}])
def test_with_something_to_read_it_is_a_result_with_members_that_we_do_not_know(more: dict[str, Any]) -> None:
    told = json.dumps({"content": [TEXT], **more}).encode()
    assert json.loads(relay.reply_of(told, stateless=False).result) == json.loads(told)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def too_deep(around: int) -> Any:
    """Inside so many levels of a result."""
    return nested(MAX_ANSWER_LEVELS - around + 1)


NUMBER = "a number of many digits"
CHOKING: list[dict[str, Any]] = [
    {"content": [TEXT], "structuredContent": too_deep(1)},
    {"content": [TEXT], "structuredContent": {"rows": [{"a": 1}] * 10_000, "last": too_deep(2)}},
    {"content": [TEXT], "_meta": {"a": too_deep(2)}},
    {"content": [{**TEXT, "new": too_deep(3)}]},
    {"content": [{"type": "new", "new": too_deep(3)}]},
    {"content": [*[TEXT] * 100, {**TEXT, "new": too_deep(3)}]},
    {"content": [TEXT], "new": too_deep(1)},
    {"content": [TEXT], "structuredContent": {"a": NUMBER}},
    {"content": [TEXT], "_meta": {"a": NUMBER}},
]
"""Results that the official client drops with the whole line, to wait for its answer for ever."""
READ: list[dict[str, Any]] = [
    {"content": [TEXT], "structuredContent": nested(MAX_ANSWER_LEVELS - 1)},
    {"content": [TEXT], "structuredContent": {"rows": [{"a": [1]}] * 10_000}},
    {"content": [{"type": "text", "text": "[" * 1_000 + "9" * 10_000}], "_meta": {"a": "{" * 1_000}},
]


@requirement("PROV-16", "QUAL-03")
@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("told", CHOKING)
def test_what_clients_would_choke_on_is_told_in_its_place(told: dict[str, Any], stateless: bool) -> None:
    result = wire(told).replace(json.dumps(NUMBER).encode(), b"9" * (MAX_DIGITS + 1))
    with pytest.raises(ProtocolFailure, match=r"its result cannot be passed on: it .* which many clients cannot read"):
        relay.reply_of(result, stateless=stateless)
    with pytest.raises(ValueError, match=r"recursion limit|number out of range"):
        mcp_types.jsonrpc_message_adapter.validate_json(b'{"jsonrpc":"2.0","id":1,"result":%b}' % result)


@requirement("PROV-16")
@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("told", READ)
def test_what_they_can_read_passes(told: dict[str, Any], stateless: bool) -> None:
    assert json.loads(relay.reply_of(wire(told), stateless=stateless).result) == told
    mcp_types.jsonrpc_message_adapter.validate_json(b'{"jsonrpc":"2.0","id":1,"result":%b}' % wire(told))


@requirement("PROV-16", "QUAL-03")
@pytest.mark.parametrize("stateless", [False, True])
def test_so_it_is_with_prompts_and_resources(stateless: bool) -> None:
    for method, member in (("prompts/get", "messages"), ("resources/read", "contents")):
        with pytest.raises(ProtocolFailure, match=f"its answer to {method} cannot be passed on: it is nested"):
            relay.answer_of(method, wire({member: [], "new": too_deep(1)}), stateless=stateless)


@requirement("PROV-16", "QUAL-03")
def test_an_error_goes_without_such_data() -> None:
    passed = passed_on("vault", JsonRpcFailure(-32001, "it is shut", too_deep(1)))
    assert passed.message.startswith("it is shut (without the data of this error of vault: it is nested more than 199")
    assert isinstance(passed, JsonRpcFailure)
    assert (passed.error_code, passed.error_data) == (-32001, None)
    fine = passed_on("vault", JsonRpcFailure(-32001, "it is shut", nested(100)))
    assert isinstance(fine, JsonRpcFailure)
    assert fine.error_data == nested(100)

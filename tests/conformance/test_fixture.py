"""The fixture by itself: what the suite will ask of it, without a gateway in between."""

import base64
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.errors import ClawftError, ProtocolFailure, ToolError, ToolNotFound
from clawft.model import Call, Caller, Capabilities, InputRequired, LogLevel, Origin, Question, Tool
from clawft.provider.base import CompletionProvider, PromptProvider, Provider, RawProvider, ResourceProvider
from clawft.provider.registry import outside_providers
from tests.conformance import content, listings
from tests.conformance.fixture import ADDED_TOOL, NAMESPACE, ConformanceProvider
from tests.conformance.served import PACKAGE
from tests.requirements import requirement

EVERYTHING = Capabilities(elicit_form=True, sampling=True, roots=True)
NAME = {"action": "accept", "content": {"name": "Alice"}}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "Paris."}, "model": "m"}
ROOTS = {"roots": [{"uri": "file:///test/root"}]}

TOOLS = {
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_error_handling",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "json_schema_2020_12_tool",
    "test_x_mcp_header",
    "test_missing_capability",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "greet",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
}


class Script:
    """A way back to a stateless caller: it answers by the script, or not yet, and remembers what it was told."""

    def __init__(self, **answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.told: list[object] = []
        self.level = ""

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        self.told.append((progress, total))

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        self.told.append((level, data))

    def detach(self) -> None:
        self.told.append("detached")

    def hang_up(self, retry_ms: int) -> None:
        self.told.append(("retry", retry_ms))

    carried = b""

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        open = {key: question for key, question in questions.items() if key not in self.answers}
        if open:
            raise InputRequired(open)
        return {key: self.answers[key] for key in questions}


class Noted:
    """Changes, as they were announced."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def tools_changed(self, whose: str = "") -> None:
        self.seen.append("tools")

    def prompts_changed(self, whose: str = "") -> None:
        self.seen.append("prompts")

    def resources_changed(self, whose: str = "") -> None:
        self.seen.append("resources")

    def elicitation_completed(self, id: str) -> None:
        pass

    def resource_updated(self, uri: str) -> None:
        self.seen.append(uri)

    def log(self, level: str, params: bytes, principal: str) -> None:
        self.seen.append(level)


@pytest.fixture
def provider(tmp_path: Path) -> ConformanceProvider:
    return ConformanceProvider(tmp_path)


def call(
    tool: Tool, arguments: Mapping[str, Any] | None = None, talk: Script | None = None, can: Capabilities = EVERYTHING
) -> Call:
    return Call(
        caller=Caller(capabilities=can),
        name=f"{NAMESPACE}__{tool.name}",
        tool=tool,
        origin=Origin(NAMESPACE),
        arguments=msgspec.json.encode(arguments or {}),
        talk=talk or Script(),
    )


def listed(provider: ConformanceProvider, name: str) -> Tool:
    return next(tool for tool in provider.list_tools() if tool.name == name)


async def run(provider: ConformanceProvider, name: str, talk: Script | None = None, /, **arguments: Any) -> Any:
    reply = await provider.run(call(listed(provider, name), arguments, talk))
    return msgspec.json.decode(reply.result)


async def said(provider: ConformanceProvider, name: str, talk: Script | None = None, /, **arguments: Any) -> str:
    return (await run(provider, name, talk, **arguments))["content"][0]["text"]


async def asked(provider: ConformanceProvider, name: str, talk: Script, /, **arguments: Any) -> Mapping[str, Question]:
    with pytest.raises(InputRequired) as question:
        await run(provider, name, talk, **arguments)
    return question.value.questions


async def prompt(
    provider: ConformanceProvider, name: str, talk: Script | None = None, **arguments: str
) -> list[dict[str, Any]]:
    reply = await provider.get_prompt(call(Tool(name, b"{}"), arguments, talk))
    return [message["content"] for message in reply["messages"]]


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("PROV-22", "SHELL-22")
def test_it_is_a_provider_like_any_other(provider: ConformanceProvider) -> None:
    for kind in (Provider, RawProvider, ResourceProvider, PromptProvider, CompletionProvider):
        assert isinstance(provider, kind)


@requirement("SHELL-22")
def test_exactly_the_tools_of_the_suite_are_listed_and_described(provider: ConformanceProvider) -> None:
    tools = provider.list_tools()
    assert {tool.name for tool in tools} == TOOLS
    assert len(tools) == len(TOOLS)
    assert all(tool.description for tool in tools)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool.name) for tool in tools)


@requirement("SHELL-22")
def test_the_first_tool_works_without_arguments(provider: ConformanceProvider) -> None:
    assert provider.list_tools()[0].name == "test_simple_text"


@requirement("SHELL-22")
@pytest.mark.parametrize(
    ("name", "given"),
    [("json_schema_2020_12_tool", content.SCHEMA_2020_12), ("test_x_mcp_header", content.REGION_SCHEMA)],
)
def test_a_given_schema_is_listed_unmodified(provider: ConformanceProvider, name: str, given: dict[str, Any]) -> None:
    assert msgspec.json.decode(listed(provider, name).wire)["inputSchema"] == given


@requirement("SHELL-22")
def test_what_a_tool_needs_and_whether_it_is_a_task_is_declared(provider: ConformanceProvider) -> None:
    assert listed(provider, "test_missing_capability").needs == Capabilities(sampling=True)
    tasks = {tool.name: tool.task for tool in provider.list_tools() if tool.task != "forbidden"}
    assert tasks == {
        "slow_compute": "optional",
        "failing_job": "required",
        "protocol_error_job": "required",
        "confirm_delete": "optional",
        "multi_input": "optional",
    }


@requirement("PROV-04")
async def test_the_tool_trigger_really_changes_the_list(provider: ConformanceProvider) -> None:
    noted = Noted()
    provider.watch(noted)
    await run(provider, "test_trigger_tool_change")
    assert {tool.name for tool in provider.list_tools()} == TOOLS | {ADDED_TOOL}
    assert await said(provider, ADDED_TOOL) == "I was added while you watched"
    await run(provider, "test_trigger_tool_change")
    assert {tool.name for tool in provider.list_tools()} == TOOLS
    assert noted.seen == ["tools", "tools"]


@requirement("PROV-04")
async def test_the_prompt_trigger_really_changes_the_list(provider: ConformanceProvider) -> None:
    noted = Noted()
    provider.watch(noted)
    await run(provider, "test_trigger_prompt_change")
    assert listings.ADDED_PROMPT in provider.list_prompts()
    assert await prompt(provider, listings.ADDED_PROMPT.name) == [content.text_block("I was added while you watched")]
    await run(provider, "test_trigger_prompt_change")
    assert provider.list_prompts() == listings.PROMPTS
    assert noted.seen == ["prompts", "prompts"]


# ── plain tools ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-22")
async def test_text(provider: ConformanceProvider) -> None:
    assert await said(provider, "test_simple_text") == "This is a simple text response for testing."


@requirement("SHELL-22")
async def test_media_is_what_it_says_it_is(provider: ConformanceProvider) -> None:
    image = (await run(provider, "test_image_content"))["content"]
    sound = (await run(provider, "test_audio_content"))["content"]
    assert [block["mimeType"] for block in (*image, *sound)] == ["image/png", "audio/wav"]
    assert base64.b64decode(image[0]["data"], validate=True).startswith(b"\x89PNG\r\n")
    assert base64.b64decode(sound[0]["data"], validate=True).startswith(b"RIFF")


@requirement("SHELL-22")
async def test_embedded_and_mixed_content(provider: ConformanceProvider) -> None:
    embedded = (await run(provider, "test_embedded_resource"))["content"]
    assert embedded[0]["resource"] == {
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "This is an embedded resource content.",
    }
    mixed = (await run(provider, "test_multiple_content_types"))["content"]
    assert [block["type"] for block in mixed] == ["text", "image", "resource"]


@requirement("SHELL-22")
async def test_logs_and_progress_come_in_order(provider: ConformanceProvider) -> None:
    logs, steps = Script(), Script()
    await run(provider, "test_tool_with_logging", logs)
    await run(provider, "test_tool_with_progress", steps)
    assert logs.told == [
        ("info", "Tool execution started"),
        ("info", "Tool processing data"),
        ("info", "Tool execution completed"),
    ]
    assert steps.told == [(0, 100), (50, 100), (100, 100)]


@requirement("SHELL-22")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("test_error_handling", "This tool intentionally returns an error for testing"),
        ("failing_job", "the job failed, as it always does"),
    ],
)
async def test_failing_tools_fail_as_tools(provider: ConformanceProvider, name: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await run(provider, name)


@requirement("SHELL-22")
async def test_the_broken_job_breaks_below_the_tool(provider: ConformanceProvider) -> None:
    with pytest.raises(ProtocolFailure) as broken:
        await run(provider, "protocol_error_job")
    assert isinstance(broken.value, ClawftError)
    assert not isinstance(broken.value, ToolError)


@requirement("SHELL-22")
async def test_reconnection_hangs_up_and_still_answers(provider: ConformanceProvider) -> None:
    talk = Script()
    assert await said(provider, "test_reconnection", talk) == "Reconnection test completed"
    assert talk.told == [("retry", content.HANG_UP_RETRY_MS)]


@requirement("SHELL-22")
async def test_tools_with_arguments(provider: ConformanceProvider) -> None:
    assert await said(provider, "greet", name="World") == "Hello, World!"
    assert await said(provider, "test_x_mcp_header", region="eu") == "Region: eu"
    assert await said(provider, "slow_compute", seconds=0, label="x") == "Computed x in 0 s"
    assert await said(provider, "json_schema_2020_12_tool", name="n", email="e") == "Got email, name"


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-22")
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("test_input_required_result_elicitation", {"user_name"}),
        ("test_input_required_result_sampling", {"capital_question"}),
        ("test_input_required_result_list_roots", {"client_roots"}),
        ("test_input_required_result_request_state", {"confirm"}),
        ("test_input_required_result_tampered_state", {"confirm"}),
        ("test_input_required_result_multiple_inputs", {"user_name", "greeting", "client_roots"}),
        ("test_input_required_result_multi_round", {"step1"}),
        ("test_streaming_elicitation", {"confirm"}),
        ("test_tool_with_task", {"user_name"}),
        ("multi_input", {"first", "second"}),
        ("test_elicitation_sep1034_defaults", {"defaults"}),
        ("test_elicitation_sep1330_enums", {"enums"}),
    ],
)
async def test_what_a_tool_asks_first(provider: ConformanceProvider, name: str, keys: set[str]) -> None:
    assert set(await asked(provider, name, Script())) == keys


@requirement("SHELL-22")
@pytest.mark.parametrize(
    ("name", "answers", "text"),
    [
        ("test_input_required_result_elicitation", {"user_name": NAME}, "Hello, Alice!"),
        ("test_input_required_result_sampling", {"capital_question": SAMPLED}, "LLM response: Paris."),
        ("test_input_required_result_list_roots", {"client_roots": ROOTS}, "Roots: file:///test/root"),
        (
            "test_input_required_result_request_state",
            {"confirm": {"action": "accept", "content": {"ok": True}}},
            "state-ok: {'ok': True}",
        ),
        (
            "test_input_required_result_multiple_inputs",
            {"user_name": NAME, "greeting": SAMPLED, "client_roots": ROOTS},
            'Paris. action=accept, content={"name":"Alice"} 1 roots',
        ),
        (
            "test_input_required_result_multi_round",
            {"step1": NAME, "step2": {"action": "accept", "content": {"color": "blue"}}},
            "Alice likes blue",
        ),
        ("test_tool_with_task", {"user_name": NAME}, "Task done for Alice"),
        ("multi_input", {"first": NAME, "second": NAME}, "Answered: first, second"),
    ],
)
async def test_what_a_tool_makes_of_the_answers(
    provider: ConformanceProvider, name: str, answers: dict[str, Any], text: str
) -> None:
    assert await said(provider, name, Script(**answers)) == text


@requirement("SHELL-22")
async def test_the_second_round_asks_the_second_question(provider: ConformanceProvider) -> None:
    questions = await asked(provider, "test_input_required_result_multi_round", Script(step1=NAME))
    assert set(questions) == {"step2"}


@requirement("SHELL-22")
async def test_only_what_the_caller_can_answer_is_asked(provider: ConformanceProvider) -> None:
    tool = listed(provider, "test_input_required_result_capabilities")
    with pytest.raises(InputRequired) as question:
        await provider.run(call(tool, can=Capabilities(sampling=True)))
    assert [item.method for item in question.value.questions.values()] == ["sampling/createMessage"]


@requirement("SHELL-22")
async def test_a_declined_form_is_an_error_result(provider: ConformanceProvider) -> None:
    with pytest.raises(ToolError, match="no name was given"):
        await run(provider, "test_input_required_result_elicitation", Script(user_name={"action": "decline"}))


@requirement("SHELL-22")
async def test_elicitation_repeats_what_was_answered(provider: ConformanceProvider) -> None:
    talk = Script(elicitation={"action": "accept", "content": {"username": "u", "email": "e"}})
    text = await said(provider, "test_elicitation", talk, message="Who?")
    assert text == 'User response: action=accept, content={"username":"u","email":"e"}'


@requirement("SHELL-22")
async def test_sampling_passes_the_prompt_on(provider: ConformanceProvider) -> None:
    question = (await asked(provider, "test_sampling", Script(), prompt="Hi"))["sampling"]
    assert question.params == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}],
        "maxTokens": 100,
    }


@requirement("SHELL-22")
@pytest.mark.parametrize(("confirm", "text"), [(True, "Deleted a.txt"), (False, "Kept a.txt")])
async def test_nothing_is_deleted_unconfirmed(provider: ConformanceProvider, confirm: bool, text: str) -> None:
    talk = Script(confirm={"action": "accept", "content": {"confirm": confirm}})
    assert await said(provider, "confirm_delete", talk, filename="a.txt") == text


# ── resources, prompts, completion ───────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-22")
async def test_every_listed_resource_can_be_read(provider: ConformanceProvider) -> None:
    for resource in provider.list_resources():
        contents = await provider.read_resource(resource.uri)
        assert contents is not None
        assert (contents[0].uri, contents[0].mime_type) == (resource.uri, resource.mime_type)


@requirement("SHELL-22")
async def test_a_template_is_filled_from_the_uri(provider: ConformanceProvider) -> None:
    contents = await provider.read_resource("test://template/123/data")
    assert contents is not None
    assert contents[0].text == '{"id":"123","templateTest":true,"data":"Data for ID: 123"}'


@requirement("SHELL-22")
@pytest.mark.parametrize("uri", ["test://nothing", "test://template//data", "test://template/a/b/data", ""])
async def test_an_unknown_resource_is_none(provider: ConformanceProvider, uri: str) -> None:
    assert await provider.read_resource(uri) is None


@requirement("SHELL-22")
async def test_prompts_are_described_and_filled(provider: ConformanceProvider) -> None:
    assert all(item.description for item in provider.list_prompts())
    assert [block["type"] for block in await prompt(provider, "test_prompt_with_image")] == ["image", "text"]
    embedded = await prompt(provider, "test_prompt_with_embedded_resource", resourceUri="test://x")
    assert embedded[0]["resource"]["uri"] == "test://x"
    filled = await prompt(provider, "test_prompt_with_arguments", arg1="hello", arg2="world")
    assert filled[0]["text"] == "Prompt with arguments: arg1='hello', arg2='world'"


@requirement("SHELL-22")
async def test_a_prompt_may_ask_first(provider: ConformanceProvider) -> None:
    with pytest.raises(InputRequired) as question:
        await prompt(provider, listings.ASKING_PROMPT)
    assert set(question.value.questions) == {"user_context"}
    talk = Script(user_context={"action": "accept", "content": {"context": "here"}})
    assert (await prompt(provider, listings.ASKING_PROMPT, talk))[0]["text"] == "Use this context: here"


@requirement("SHELL-22")
async def test_an_unknown_prompt_is_refused(provider: ConformanceProvider) -> None:
    with pytest.raises(ToolNotFound, match="unknown prompt: nothing"):
        await prompt(provider, "nothing")


@requirement("SHELL-22")
async def test_completion_offers_what_fits(provider: ConformanceProvider) -> None:
    ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    assert await provider.complete(ref, "arg1", "test") == ["test", "testing"]
    assert await provider.complete(ref, "arg1", "zz") == []


# ── as an outside package ────────────────────────────────────────────────────────────────────────────────────────────


@requirement("PROV-22")
def test_it_is_found_as_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(PACKAGE), *sys.path])
    found = outside_providers(tmp_path, [str(PACKAGE)])
    assert found.broken == ()
    assert [provider.namespace for provider in found.providers] == [NAMESPACE]

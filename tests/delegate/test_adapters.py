"""One loop on both vendors' libraries: against our own scripted API, and against one that is not ours."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clawft.delegate.budget import RunBounds, RunEnd
from clawft.delegate.claude import Claude
from clawft.delegate.events import CallEnded, Outcome, RetryAnnounced, TextPiece
from clawft.delegate.executor import LiveExecutor
from clawft.delegate.key import ApiKey
from clawft.delegate.loop import Loop, checked
from clawft.delegate.openai import OpenAI
from clawft.delegate.toolbox import NameMap, spec_of
from clawft.delegate.turns import (
    Model,
    ModelAnswer,
    ModelRequest,
    StopReason,
    TaskText,
    ToolResult,
    ToolResults,
    ToolSpec,
)
from clawft.errors import DelegationFailed, ModelFailed
from tests import peers
from tests.delegate.support import CONTEXT, Listener, gateway, scripted_api
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # the libraries take a second to load

KEY = "sk-ant-very-secret-1234567890"
Make = Callable[[str], Model]

MAKERS: dict[str, Make] = {
    "claude": lambda url: Claude("sonnet", ApiKey(KEY), url),
    "openai": lambda url: OpenAI("some-model", ApiKey(KEY), f"{url}/v1"),
}
SCRIPT = """
[[turns]]
text = "I will look."
calls = [{ tool = "demo__echo", input = { text = "hi" } }, { tool = "demo__fail" }, { tool = "made_up" }]
[[turns]]
when = "echo: hi"
text = "It said hi."
"""


@pytest.fixture(params=sorted(MAKERS))
def make(request: pytest.FixtureRequest) -> Make:
    return MAKERS[request.param]


async def looped(model: Model, listener: Listener, bounds: RunBounds = RunBounds()) -> Outcome:  # noqa: B008 - frozen
    made = gateway()
    tools = [spec_of(entry) for entry in made.tools.visible(CONTEXT.caller)]
    loop = Loop(model, LiveExecutor(made), CONTEXT, bounds, tell=listener.tell, record=listener.record)
    try:
        return await loop.run([TaskText("say hi")], "Be kind.", tools)
    finally:
        await model.close()


@requirement("DELEG-13", "DELEG-14", "DELEG-15", "FR-006", "T-11.1", "T-11.2", "NFR-003")
async def test_tools_are_called_and_their_results_go_back(make: Make) -> None:
    listener = Listener()
    async with scripted_api(SCRIPT) as (url, requests):
        outcome = await looped(make(url), listener)
    assert (outcome.state, outcome.text, outcome.spent.turns, outcome.calls) == (RunEnd.DONE, "It said hi.", 2, 3)
    assert sorted((called.use.name, called.verdict) for called in listener.of(CallEnded)) == [
        ("demo__echo", "ok"),
        ("demo__fail", "error"),
        ("made_up", "not_found"),
    ]
    answer, results, last = listener.kept
    assert isinstance(answer, ModelAnswer)
    assert isinstance(results, ToolResults)
    assert [result.is_error for result in results.results] == [False, True, True]
    assert isinstance(last, ModelAnswer)
    assert len(requests) == 2
    assert "".join(said.text for said in listener.of(TextPiece)) == "I will look.It said hi."
    assert outcome.spent.usage.total > 0


@requirement("DELEG-13", "T-11.1")
async def test_claude_is_asked_as_its_api_wants_it() -> None:
    async with scripted_api(SCRIPT) as (url, requests):
        await looped(MAKERS["claude"](url), Listener())
    path, body = requests[1]
    assert path == "/v1/messages"
    assert (body["model"], body["max_tokens"]) == ("claude-sonnet-5-5", 4096)
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", *["tool_use"] * 3]
    assert [block.get("is_error", False) for block in body["messages"][2]["content"]] == [False, True, True]
    marked = [body["tools"][-1], body["system"][-1], body["messages"][-1]["content"][-1]]
    assert all(block["cache_control"] == {"type": "ephemeral"} for block in marked)


@requirement("DELEG-14")
async def test_thinking_goes_back_as_it_came() -> None:
    script = '[[turns]]\nthinking = "hm"\ncalls = [{ tool = "demo__echo" }]\n[[turns]]\ntext = "done"\n'
    async with scripted_api(script) as (url, requests):
        await looped(MAKERS["claude"](url), Listener())
    said = requests[1][1]["messages"][1]["content"]
    assert said[0] == {"type": "thinking", "thinking": "hm", "signature": "c2NyaXB0ZWQ="}


@requirement("DELEG-16")
async def test_what_may_pass_is_tried_again(make: Make) -> None:
    script = '[[turns]]\nfails = [429, 529, 500, "cut"]\ntext = "at last, all of it"\n'
    listener = Listener()
    async with scripted_api(script) as (url, requests):
        outcome = await looped(make(url), listener)
    assert (outcome.state, outcome.text) == (RunEnd.DONE, "at last, all of it")
    assert len(listener.of(RetryAnnounced)) == 4
    assert len(requests) == 5


@requirement("DELEG-16", "T-11.4")
async def test_a_refused_key_ends_it_without_showing_the_key(make: Make) -> None:
    listener = Listener()
    async with scripted_api("[[turns]]\nfails = [401]\n") as (url, requests):
        model = make(url)
        outcome = await looped(model, listener)
    assert outcome.state is RunEnd.FAILED
    assert "401" in outcome.reason
    assert len(requests) == 1
    with pytest.raises(DelegationFailed, match="401"):
        checked(outcome)
    assert KEY not in repr(model.__dict__) + repr(outcome) + repr(listener.events)


@requirement("DELEG-13", "DELEG-16")
async def test_the_key_goes_where_the_api_wants_it_and_nowhere_else() -> None:
    async with refusing_with(f"no such key: {KEY}") as (url, heads):
        outcome = await looped(MAKERS["claude"](url), Listener())
    assert heads[0].startswith("post /v1/messages ")
    assert f"x-api-key: {KEY}" in heads[0]
    assert "anthropic-version: 2023-06-01" in heads[0]
    assert KEY not in repr(outcome)


async def test_a_server_that_echoes_the_key_does_not_make_us_show_it(make: Make) -> None:
    async with refusing_with(f"no such key: {KEY}") as (url, _):
        outcome = await looped(make(url), Listener())
    assert "no such key" in outcome.reason
    assert KEY not in repr(outcome)


@requirement("DELEG-16", "DELEG-23")
async def test_nobody_there_is_told_with_the_way_out(make: Make) -> None:
    outcome = await looped(make("http://127.0.0.1:9"), Listener(), RunBounds(seconds=2))
    assert outcome.state in (RunEnd.FAILED, RunEnd.TIME)
    assert outcome.hint


@requirement("DELEG-15", "T-11.3")
async def test_it_ends_after_the_last_turn(make: Make) -> None:
    script = '[[turns]]\nrepeat = true\ncalls = [{ tool = "demo__echo", input = { text = "{{n}}" } }]\n'
    async with scripted_api(script) as (url, _):
        outcome = await looped(make(url), Listener(), RunBounds(turns=2))
    assert outcome.state is RunEnd.TURNS
    with pytest.raises(DelegationFailed, match="2 turns"):
        checked(outcome)


@pytest.mark.parametrize(
    ("stop", "end"),
    [("max_tokens", RunEnd.CUT), ("refusal", RunEnd.REFUSED), ("model_context_window_exceeded", RunEnd.FULL)],
)
async def test_every_reason_to_stop_has_its_end(stop: str, end: RunEnd) -> None:
    async with scripted_api(f'[[turns]]\nrepeat = true\ntext = "part "\nstop = "{stop}"\n') as (url, _):
        outcome = await looped(MAKERS["claude"](url), Listener())
    assert outcome.state is end
    assert outcome.hint


async def test_a_paused_turn_goes_on() -> None:
    script = '[[turns]]\ntext = "wait"\nstop = "pause_turn"\n[[turns]]\ntext = "done"\n'
    async with scripted_api(script) as (url, requests):
        outcome = await looped(MAKERS["claude"](url), Listener())
    assert (outcome.state, outcome.text) == (RunEnd.DONE, "done")
    assert [message["role"] for message in requests[1][1]["messages"]] == ["user", "assistant"]


@pytest.mark.parametrize("vendor", sorted(MAKERS))
async def test_an_answer_that_was_cut_is_continued(vendor: str) -> None:
    script = '[[turns]]\ntext = "one "\nstop = "max_tokens"\n[[turns]]\nwhen = "Go on"\ntext = "two"\n'
    async with scripted_api(script) as (url, _):
        outcome = await looped(MAKERS[vendor](url), Listener())
    assert (outcome.state, outcome.text) == (RunEnd.DONE, "one two")


@requirement("DELEG-17", "T-11.5", "S3-E12")
async def test_without_tools_it_answers_in_text(make: Make) -> None:
    async with scripted_api('[[turns]]\ntext = "just words"\n') as (url, requests):
        model = make(url)
        answer = await model.answer(ModelRequest([TaskText("x")]), lambda text: None)
        await model.close()
    assert (answer.text, answer.stop) == ("just words", StopReason.DONE)
    assert not requests[0][1].get("tools")
    if requests[0][0] == "/v1/messages":
        assert requests[0][1]["tools"] == []


async def test_odd_names_are_spelled_for_the_api_and_back(make: Make) -> None:
    name = "mcp:server.with.dots__" + "long_" * 20
    script = '[[turns]]\ncalls = [{ tool = "SPELLED" }]\n'.replace("SPELLED", NameMap([name]).to_api(name))
    async with scripted_api(script) as (url, requests):
        model = make(url)
        answer = await model.answer(ModelRequest([TaskText("x")], [ToolSpec(name, "", {})]), lambda text: None)
        await model.close()
    tool = requests[0][1]["tools"][0]
    spelled = tool.get("name") or tool["function"]["name"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", spelled)
    assert answer.uses[0].name == name


async def test_a_history_of_one_vendor_goes_on_with_the_other(make: Make) -> None:
    """`--resume` with another model than before."""
    other = ModelAnswer("looking", (), StopReason.TOOLS, vendor="somebody", raw={"odd": 1})
    async with scripted_api('[[turns]]\nrepeat = true\ntext = "fine"\n') as (url, requests):
        model = make(url)
        history = [TaskText("x"), other, ToolResults((ToolResult("1", "ok"),))]
        await model.answer(ModelRequest([*history[:2], TaskText("and?")]), lambda text: None)
        await model.close()
    assert "looking" in json.dumps(requests[0][1])


# ── an API that is not ours ──────────────────────────────────────────────────────────────────────────────────────────

FIXTURES: dict[str, Any] = {
    "fixtures": [
        {
            "match": {"hasToolResult": False},
            "response": {
                "content": "I will look.",
                "toolCalls": [
                    {"name": "demo__echo", "arguments": {"text": "hi"}},
                    {"name": "demo__fail", "arguments": {}},
                    {"name": "made_up", "arguments": {}},
                ],
            },
        },
        {"match": {"hasToolResult": True}, "response": {"content": "It said hi."}},
    ]
}


@asynccontextmanager
async def aimock(folder: Path) -> AsyncGenerator[str]:
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps(FIXTURES))
    argv = [*peers.bin("llmock"), "-p", "0", "-f", str(fixtures)]
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(30):
            yield await _address(process)
    finally:
        process.terminate()
        await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async for line in process.stdout:
        found = re.search(rb"http://127\.0\.0\.1:\d+", line)
        if found:
            return found[0].decode()
    raise AssertionError("aimock does not say where it listens")


@requirement("DELEG-13", "DELEG-14", "DELEG-15", "FR-006")
async def test_the_same_script_on_an_api_that_is_not_ours(make: Make, tmp_path: Path) -> None:
    listener = Listener()
    async with aimock(tmp_path) as url:
        outcome = await looped(make(url), listener)
    assert (outcome.state, outcome.text, outcome.spent.turns, outcome.calls) == (RunEnd.DONE, "It said hi.", 2, 3)
    assert sorted(called.verdict for called in listener.of(CallEnded)) == ["error", "not_found", "ok"]


async def test_an_address_where_nobody_is_is_named(make: Make) -> None:
    async with refusing_with("") as (url, _):
        pass  # and it is gone
    model = make(url)
    with pytest.raises(ModelFailed) as failed:
        await model.answer(ModelRequest([TaskText("say hi")]), lambda text: None)
    await model.close()
    assert failed.value.hint == f"is {url} right, and the network there?"


@asynccontextmanager
async def refusing_with(message: str) -> AsyncGenerator[tuple[str, list[str]]]:
    """An API that answers every request with 401 and this message; and the heads of the requests, in small letters."""
    heads: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        body = json.dumps({"error": {"type": "authentication_error", "message": message}}).encode()
        head = b"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close\r\n"
        writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads

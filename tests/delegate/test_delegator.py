"""The delegator and its tool: who could take a task, who gets it, with which tools, and what comes back."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.builtin.search_tools import finding_tools
from clawft.catalog.surface import FINDERS
from clawft.delegate.budget import RunEnd
from clawft.delegate.delegator import DelegateJob, Delegator, DelegatorHost
from clawft.delegate.events import Outcome, TextPiece
from clawft.delegate.prompt import ConnectedServer, system_prompt
from clawft.delegate.scripted_model import ScriptedModel
from clawft.delegate.tool import MAX_REPORTED, ProgressReports, delegate_provider
from clawft.delegate.turns import ModelRequest, Say
from clawft.errors import DelegationFailed
from clawft.gateway.core import Gateway
from clawft.model import Call, Caller, Grant, Reply, SilentTalk
from clawft.policy.delegation import DelegationConfig, DelegationRule, Target
from clawft.provider.function import FunctionProvider, tool
from clawft.store.memory import MemoryStore
from clawft.wire.meta import read_delegates
from tests.delegate.support import Listener, echo, gateway, scenario
from tests.requirements import requirement

DONE = '[[turns]]\ntext = "done"\n'


class Watched(ScriptedModel):
    """A scripted model that remembers what it was asked."""

    def __init__(self, script: str) -> None:
        super().__init__(scenario(script))
        self.requests: list[ModelRequest] = []

    async def answer(self, request: ModelRequest, say: Say) -> Any:
        self.requests.append(request)
        return await super().answer(request, say)

    @property
    def tools(self) -> list[str]:
        return [tool.name for tool in self.requests[0].tools]


def delegator_of(made: Gateway, config: DelegationConfig, connected: Sequence[ConnectedServer] = ()) -> Delegator:
    host = DelegatorHost(made, lambda: None, lambda: connected, Path("/workspace"))
    return Delegator(config, host)


def job(task: str, listener: Listener, **more: Any) -> DelegateJob:
    return DelegateJob(task, more.pop("caller", Caller()), listener.tell, listener.record, **more)


# ── who ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("DELEG-23", "FR-008")
def test_what_is_missing_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    on = DelegationConfig(claude_enabled=True, openai_enabled=True, openai_model="m", claude_flow_enabled=True)
    missing = delegator_of(gateway(), on).missing(Caller())
    assert "ANTHROPIC_API_KEY" in missing[Target.CLAUDE]
    assert "OPENAI_API_KEY" in missing[Target.OPENAI]
    assert "claude_flow_server" in missing[Target.FLOW]
    off = delegator_of(gateway(), DelegationConfig()).missing(Caller())
    assert all("switched off" in fault for fault in off.values())
    assert len(off) == 3


@requirement("DELEG-23", "DELEG-24")
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.delegate.sdk.find_spec", _finds_nothing)
    on = DelegationConfig(claude_enabled=True, openai_enabled=True, openai_model="m")
    missing = delegator_of(gateway(), on).missing(Caller())
    assert "clawft[claude]" in missing[Target.CLAUDE]
    assert "clawft[openai]" in missing[Target.OPENAI]


def _finds_nothing(name: str) -> None:
    """As if no library were installed."""


@requirement("DELEG-23")
def test_what_is_there_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    on = DelegationConfig(claude_enabled=True, rules=(DelegationRule("x", "claude"),))
    delegator = delegator_of(gateway(), on)
    assert Target.CLAUDE not in delegator.missing(Caller())
    assert delegator.decide("x", Caller()).target is Target.CLAUDE


@requirement("DELEG-22", "T-12.7")
async def test_an_explicit_target_that_is_not_there_is_an_error() -> None:
    with pytest.raises(DelegationFailed, match="claude is not available") as told:
        await delegator_of(gateway(), DelegationConfig()).run(job("x", Listener(), target=Target.CLAUDE))
    assert told.value.hint.startswith("weft agent --explain -p ")  # doctor says nothing of what is switched off


# ── with which tools ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("DELEG-17", "DELEG-18")
async def test_excluded_and_hidden_tools_and_its_own_are_not_given() -> None:
    made = gateway()
    config = DelegationConfig(claude_enabled=True, excluded_tools=("mcp__demo__fail",))
    delegator = delegator_of(made, config)
    made.register(delegate_provider(delegator, Path.cwd()))
    model = Watched(DONE)
    caller = Caller(grant=Grant(deny=("demo__hang",)))
    await delegator.run(job("x", Listener(), model=model, caller=caller))
    assert model.tools == ["demo__echo"]


@requirement("DELEG-17", "GUARD-06")
@pytest.mark.parametrize("tools", [(), ("*",)])
async def test_a_delegate_is_given_nothing_that_the_gateway_does_not_offer_to_people(tools: tuple[str, ...]) -> None:
    model = Watched(DONE)
    person = Caller("issuer#ada", grant=Grant(allow=("*",), within=("demo__echo",)))
    await delegator_of(gateway(), DelegationConfig()).run(job("x", Listener(), model=model, caller=person, tools=tools))
    assert model.tools == ["demo__echo"]


@requirement("DELEG-18")
async def test_the_list_is_taken_anew_for_each_task() -> None:
    made = gateway()
    delegator = delegator_of(made, DelegationConfig())
    first, second = Watched(DONE), Watched(DONE)
    await delegator.run(job("x", Listener(), model=first))

    @tool
    async def late() -> str:
        """Comes later."""
        return ""

    made.register(FunctionProvider("late", [late], workspace=Path.cwd(), store=MemoryStore()))
    await delegator.run(job("x", Listener(), model=second))
    assert set(second.tools) - set(first.tools) == {"late__late"}


@requirement("DELEG-03")
async def test_a_rules_tools_are_all_that_can_be_called() -> None:
    made = gateway()
    script = '[[turns]]\ncalls = [{ tool = "demo__fail" }]\n[[turns]]\nwhen = "not found"\ntext = "done"\n'
    model = Watched(script)
    outcome = await delegator_of(made, DelegationConfig()).run(job("x", Listener(), model=model, tools=("demo__echo",)))
    assert model.tools == ["demo__echo"]
    assert outcome.state is RunEnd.DONE


@requirement("DELEG-03", "DELEG-21")
@pytest.mark.parametrize("target", ["auto", "claude"])
async def test_whoever_hands_in_a_task_cannot_ask_for_more_than_its_rule_leaves(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    model = Watched(DONE)
    run = Delegator.run

    async def with_a_script(delegator: Delegator, handed_in: DelegateJob) -> Outcome:
        return await run(delegator, msgspec.structs.replace(handed_in, model=model))

    monkeypatch.setattr(Delegator, "run", with_a_script)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    rules = (DelegationRule("x", "claude", ("demo__echo", "demo__add")),)
    made = offering(DelegationConfig(claude_enabled=True, rules=rules))
    for asked_for in (["demo__echo", "demo__fail"], ["demo__fail"], None):
        await asked(made, task="x", target=target, tools=asked_for)
    given = [[each.name for each in request.tools] for request in model.requests]
    assert given == [["demo__echo"], [], ["demo__echo"]]


async def test_too_many_tools_are_searched() -> None:
    made = gateway()
    host = DelegatorHost(made, lambda: offer_search(made), lambda: (), Path.cwd())
    model = Watched(DONE)
    await Delegator(DelegationConfig(tool_tokens=10), host).run(job("x", Listener(), model=model))
    assert set(model.tools) == FINDERS
    assert "weft__search_tools" in model.requests[0].system


def offer_search(made: Gateway) -> None:
    def hand_on(call: Call, name: str, arguments: bytes) -> Awaitable[Reply]:
        return made.call(call.caller, name, arguments, call.talk, call.meta)

    finders = finding_tools(made.tools.search, hand_on, made.tools.find)
    made.register(FunctionProvider("weft", finders, workspace=Path.cwd(), store=MemoryStore()))


async def test_a_delegate_that_may_not_search_is_told_of_all_its_tools() -> None:
    made = gateway()
    host = DelegatorHost(made, lambda: offer_search(made), lambda: (), Path.cwd())
    model = Watched(DONE)
    caller = Caller(grant=Grant(("demo__echo",)))
    await Delegator(DelegationConfig(tool_tokens=10), host).run(job("x", Listener(), model=model, caller=caller))
    assert model.tools == ["demo__echo"]
    assert "weft__search_tools" not in model.requests[0].system


async def test_a_delegate_does_not_delegate_again() -> None:
    made = gateway()
    delegator = delegator_of(made, DelegationConfig())
    asked: list[str] = []

    class Nested(Watched):
        async def answer(self, request: ModelRequest, say: Say) -> Any:
            with pytest.raises(DelegationFailed, match="depth 1"):
                await delegator.run(job("inner", Listener(), model=Watched(DONE)))
            asked.append("inner")
            return await super().answer(request, say)

    await delegator.run(job("outer", Listener(), model=Nested(DONE)))
    assert asked == ["inner"]
    await delegator.run(job("next", Listener(), model=Watched(DONE)))


@requirement("DELEG-14")
async def test_a_delegate_is_somebody_of_its_own() -> None:
    seen: list[Caller] = []

    class Spy:
        def applies(self, tool: Any, origin: Any) -> bool:
            return True

        async def __call__(self, call: Any, after: Any) -> Reply:
            seen.append(call.caller)
            return await after(call)

    made = Gateway([Spy()])
    made.register(FunctionProvider("demo", [tool(_ping)], workspace=Path.cwd(), store=MemoryStore()))
    script = '[[turns]]\ncalls = [{ tool = "demo___ping" }]\n[[turns]]\ntext = "done"\n'
    await delegator_of(made, DelegationConfig()).run(job("x", Listener(), model=Watched(script)))
    assert (seen[0].principal, seen[0].client) == ("local/scripted", "delegate/auto")
    assert not seen[0].capabilities.elicit_form


async def _ping() -> str:
    """Pong."""
    return "pong"


@requirement("AGENT-12")
def test_the_prompt_speaks_of_servers_only_if_there_are_some() -> None:
    assert "MCP" not in system_prompt("/w", [], searching=False)
    told = system_prompt(
        "/w", [ConnectedServer("far", "Be  gentle.\nPlease."), ConnectedServer("near")], searching=False
    )
    assert "- far: Be gentle. Please.\n- near" in told


# ── the tool ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def offering(config: DelegationConfig) -> Gateway:
    made = gateway()
    made.register(delegate_provider(delegator_of(made, config), Path.cwd()))
    return made


async def asked(made: Gateway, **given: Any) -> tuple[bool, dict[str, Any]]:
    reply = await made.call(Caller(), "delegate_task", msgspec.json.encode(given), SilentTalk())
    return reply.is_error, msgspec.json.decode(reply.result)


@requirement("DELEG-20", "T-12.1", "T-12.2")
def test_its_schema_asks_for_a_task() -> None:
    entry = offering(DelegationConfig(claude_enabled=True)).tools.find("delegate__task")
    assert entry is not None
    schema = msgspec.json.decode(entry.tool.input_schema)
    assert schema["required"] == ["task"]
    assert set(schema["properties"]) == {"task", "target", "tools"}
    assert schema["properties"]["target"]["default"] == "auto"
    assert set(schema["properties"]["target"]["enum"]) == {"auto", "local", "claude", "openai", "flow"}


@requirement("DELEG-21", "T-12.3")
async def test_without_a_task_the_arguments_are_wrong() -> None:
    is_error, result = await asked(offering(DelegationConfig()), target="claude")
    assert is_error
    assert "task" in result["content"][0]["text"]


@requirement("DELEG-20", "QUAL-03")
@pytest.mark.parametrize("globs", [["[" * 200_000], ["a*"] * 100_000], ids=["a long one", "many"])
async def test_globs_that_would_keep_everybody_waiting_are_wrong_arguments(globs: list[str]) -> None:
    began = time.process_time()
    is_error, result = await asked(offering(DelegationConfig(claude_enabled=True)), task="x", tools=globs)
    assert is_error
    assert "tools" in result["content"][0]["text"]
    assert time.process_time() - began < 2


@requirement("DELEG-21", "T-12.6")
async def test_what_stays_local_is_said_to_stay() -> None:
    is_error, result = await asked(offering(DelegationConfig()), task="hello")
    assert not is_error
    assert result["structuredContent"]["target"] == "local"
    assert "stays with you: no rule matches" in result["structuredContent"]["output"]


@requirement("DELEG-18", "DELEG-22")
@pytest.mark.parametrize("through", ["", "weft__call_tool"])
async def test_delegates_of_gateways_that_serve_one_another_come_to_an_end(through: str) -> None:
    """Each call of a delegate says how many there are already, and whoever takes the next task counts on."""
    heard: list[bytes] = []

    class Elsewhere(FunctionProvider):
        async def run(self, call: Call) -> Reply:
            heard.append(call.meta)
            return await super().run(call)

    made = gateway()
    made.register(Elsewhere("far", [echo], workspace=Path.cwd(), store=MemoryStore()))
    offer_search(made)
    asked_for = '{ tool = "weft__call_tool", input = { name = "far__echo" } }' if through else '{ tool = "far__echo" }'
    script = f'[[turns]]\ncalls = [{asked_for}]\n[[turns]]\ntext = "done"\n'
    await delegator_of(made, DelegationConfig()).run(job("x", Listener(), model=Watched(script)))
    assert [read_delegates(meta) for meta in heard] == [1]
    there = offering(DelegationConfig(claude_enabled=True, claude_key="key"))
    arguments = msgspec.json.encode({"task": "x", "target": "claude"})
    reply = await there.call(Caller(), "delegate__task", arguments, meta=heard[0])
    assert reply.is_error
    assert b"a delegate may not delegate again (depth 1)" in reply.result


def test_what_is_no_number_of_delegates_is_none() -> None:
    told = [b"", b"{", b'{"dev.clawft/delegates":-3}', b'{"dev.clawft/delegates":"2"}', b'{"dev.clawft/delegates":2}']
    assert [read_delegates(meta) for meta in told] == [0, 0, 0, 0, 2]


def test_a_report_of_progress_is_short() -> None:
    """Whatever a model says in one breath."""
    told: list[str] = []

    class Heard(SilentTalk):
        def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
            told.append(message)

    ProgressReports(Heard())(TextPiece("x" * 2_000_000))
    assert told == ["x" * MAX_REPORTED + "…"]


@requirement("DELEG-22", "T-12.7")
async def test_a_target_that_is_not_there_fails_and_says_why() -> None:
    is_error, result = await asked(offering(DelegationConfig()), task="hello", target="flow")
    assert is_error
    assert "flow is not available" in result["content"][0]["text"]

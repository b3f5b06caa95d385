"""The loop by itself: bounds, hangs, repetition and cancelling, with a scripted model."""

from __future__ import annotations

import asyncio

import pytest

from clawft.delegate.budget import RunBounds, RunEnd, Spending, cost_of, exceeded, price_of, room
from clawft.delegate.events import CallEnded, CallStarted, Outcome
from clawft.delegate.executor import ExecutionContext, LiveExecutor, ToolCallSpec, ToolExecutionResult
from clawft.delegate.loop import MAX_SAME, MAX_USES, Loop
from clawft.delegate.retry import LONGEST_WAIT, MAX_TRIES, is_passing, pause, read_wait
from clawft.delegate.scripted_model import ScriptedModel
from clawft.delegate.toolbox import spec_of
from clawft.delegate.turns import (
    INTERRUPTED,
    ModelAnswer,
    StopReason,
    TaskText,
    TokenUsage,
    ToolResult,
    ToolResults,
    ToolUse,
    mended,
)
from clawft.policy.delegation import Price
from tests.delegate.support import CONTEXT, Listener, gateway, scenario
from tests.requirements import requirement


async def looped(script: str, listener: Listener, bounds: RunBounds = RunBounds()) -> Outcome:  # noqa: B008 - frozen
    made = gateway()
    loop = Loop(
        ScriptedModel(scenario(script)), LiveExecutor(made), CONTEXT, bounds, tell=listener.tell, record=listener.record
    )
    return await loop.run([TaskText("go")], "", [spec_of(entry) for entry in made.tools.visible(CONTEXT.caller)])


@requirement("AGENT-04")
async def test_a_tool_that_hangs_is_cancelled_and_the_run_goes_on() -> None:
    listener = Listener()
    script = '[[turns]]\ncalls = [{ tool = "demo__hang" }]\n[[turns]]\nwhen = "no answer within"\ntext = "went on"\n'
    outcome = await looped(script, listener, RunBounds(tool_seconds=0.05))
    assert (outcome.state, outcome.text) == (RunEnd.DONE, "went on")
    assert listener.of(CallEnded)[0].verdict == "error"


async def test_a_model_that_loops_on_one_call_is_stopped() -> None:
    listener = Listener()
    script = '[[turns]]\nrepeat = true\ncalls = [{ tool = "demo__echo", input = { text = "again" } }]\n'
    outcome = await looped(script, listener, RunBounds(turns=50))
    assert (outcome.state, outcome.calls) == (RunEnd.LOOPING, MAX_SAME)
    assert "same call" in outcome.reason


async def test_a_conversation_has_an_end_whatever_the_model_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.delegate.loop.MAX_CONVERSATION", 500)
    script = (
        '[[turns]]\nusage = { input = 0, output = 0 }\ncalls = [{ tool = "demo__echo", input = { text = "%s" } }]\n'
    )
    outcome = await looped(script % ("x" * 500), Listener())
    assert (outcome.state, outcome.calls) == (RunEnd.FULL, 1)


async def test_the_whole_run_has_its_time() -> None:
    script = '[[turns]]\ncalls = [{ tool = "demo__hang" }]\n'
    outcome = await looped(script, Listener(), RunBounds(seconds=0.05))
    assert outcome.state is RunEnd.TIME
    assert "0.05 s" in outcome.reason


@pytest.mark.parametrize(
    ("bounds", "end"),
    [(RunBounds(turns=1), RunEnd.TURNS), (RunBounds(tokens=2), RunEnd.TOKENS)],
    ids=["turns", "tokens"],
)
async def test_a_bound_ends_it_clearly(bounds: RunBounds, end: RunEnd) -> None:
    outcome = await looped('[[turns]]\ncalls = [{ tool = "demo__echo" }]\n', Listener(), bounds)
    assert outcome.state is end
    assert "delegation.max" in outcome.hint


async def test_too_many_calls_in_one_answer_are_refused_one_by_one() -> None:
    listener = Listener()
    calls = ", ".join('{ tool = "demo__echo" }' for _ in range(MAX_USES + 2))
    outcome = await looped(f'[[turns]]\ncalls = [{calls}]\n[[turns]]\ntext = "done"\n', listener)
    results = listener.kept[1]
    assert outcome.state is RunEnd.DONE
    assert isinstance(results, ToolResults)
    assert [result.is_error for result in results.results].count(True) == 2


async def test_no_more_calls_at_once_than_allowed() -> None:
    running = most = 0

    class Counting:
        name = "counting"

        async def execute(self, spec: ToolCallSpec, tool_use_id: str, ctx: ExecutionContext) -> ToolExecutionResult:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return ToolExecutionResult("success", "")

    calls = ", ".join('{ tool = "x" }' for _ in range(10))
    model = ScriptedModel(scenario(f'[[turns]]\ncalls = [{calls}]\n[[turns]]\ntext = "done"\n'))
    listener = Listener()
    loop = Loop(model, Counting(), CONTEXT, RunBounds(parallel=3), tell=listener.tell, record=listener.record)
    await loop.run([TaskText("go")], "", [])
    assert most == 3


async def test_cancelling_stops_the_tool_and_is_told() -> None:
    listener = Listener()
    running = asyncio.create_task(looped('[[turns]]\ncalls = [{ tool = "demo__hang" }]\n', listener))
    async with asyncio.timeout(5):
        await listener.heard(CallStarted)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert listener.of(Outcome)[0].state is RunEnd.CANCELLED
    assert isinstance(listener.kept[0], ModelAnswer)


def test_a_broken_off_history_is_mended() -> None:
    asked = ModelAnswer("", (ToolUse("1", "x"), ToolUse("2", "y")), StopReason.TOOLS)
    missing = ToolResults((ToolResult("1", INTERRUPTED, is_error=True), ToolResult("2", INTERRUPTED, is_error=True)))
    assert mended([TaskText("a"), asked]) == [TaskText("a"), asked, missing]
    assert mended([TaskText("a"), asked, TaskText("b")]) == [TaskText("a"), asked, missing, TaskText("b")]
    whole = [TaskText("a"), asked, ToolResults((ToolResult("1", ""), ToolResult("2", ""))), ModelAnswer("done")]
    assert mended(whole) == whole


def test_results_of_calls_that_nobody_made_are_left_out() -> None:
    """Two went on with one transcript, or somebody wrote into it."""
    asked = ModelAnswer("", (ToolUse("1", "x"),), StopReason.TOOLS)
    missing = ToolResults((ToolResult("1", INTERRUPTED, is_error=True),))
    made_up = ToolResults((ToolResult("9", "I am root"),))
    assert mended([TaskText("a"), made_up, TaskText("b")]) == [TaskText("a"), TaskText("b")]
    assert mended([asked, made_up]) == [asked, missing]
    assert mended([asked, TaskText("b"), ToolResults((ToolResult("1", "late"),))]) == [asked, missing, TaskText("b")]


def test_money_is_counted_and_bounded() -> None:
    price = price_of("claude-opus-5-5-20261001", {})
    assert price == price_of("claude-opus-5-5", {})
    assert price_of("mine", {"mine": Price(1, 2)}) == Price(1, 2)
    assert price_of("mine", {}) is None
    assert cost_of(TokenUsage(1_000_000, 1_000_000), Price(2, 10)) == 12
    spent = Spending(cost=0.0).plus(TokenUsage(1_000_000, 0), Price(2, 10))
    assert exceeded(RunBounds(cost=2.0, tokens=9_000_000), spent) is RunEnd.COST
    assert exceeded(RunBounds(cost=2.5, tokens=9_000_000), spent) is None
    assert exceeded(RunBounds(cost=2.5), spent) is RunEnd.TOKENS
    assert room(RunBounds(tokens=1_000_100), spent) == 100


def test_patience_is_bounded() -> None:
    assert [is_passing(status) for status in (400, 401, 404, 408, 429, 500, 503, 529)] == [
        False, False, False, True, True, True, True, True,
    ]  # fmt: skip
    assert pause(MAX_TRIES, None, 0) is None
    assert pause(1, LONGEST_WAIT + 1, 0) is None
    assert pause(1, 3.0, 0) == 3.0
    assert [pause(attempt, None, 0) for attempt in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 4.0]


def test_patience_is_asked_for_in_seconds_or_until_a_date() -> None:
    now = 1_792_567_605.0
    assert read_wait({"retry-after": "2"}, now) == 2.0
    assert read_wait({"retry-after-ms": "500", "retry-after": "2"}, now) == 0.5
    assert read_wait({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, now) == 75.0
    assert read_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, now) == 0.0
    assert read_wait({"retry-after": "soon"}, now) is None
    assert read_wait({}, now) is None

"""The loop: ask the model, run the tools it wants, give it their results, until it is done or a bound is reached."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence

from clawft.delegate.budget import RunBounds, RunEnd, Spending, exceeded, price_of, room, why
from clawft.delegate.events import AnswerEnded, CallEnded, CallStarted, Outcome, RetryAnnounced, Tell, TextPiece
from clawft.delegate.executor import ExecutionContext, ToolCallSpec, ToolExecutionResult, ToolExecutor
from clawft.delegate.retry import pause
from clawft.delegate.turns import (
    HistoryEntry,
    Model,
    ModelAnswer,
    ModelRequest,
    Say,
    StopReason,
    TaskText,
    ToolResult,
    ToolResults,
    ToolSpec,
    ToolUse,
    length_of,
)
from clawft.errors import DelegationFailed, ModelFailed
from clawft.model.encoded import without_surrogates
from clawft.policy.delegation import Price

MAX_USES = 64
"""How many calls of one answer are carried out; further ones are answered with an error."""
MAX_SAME = 3
"""How often in a row the same calls may have the same results before the run counts as looping."""
MAX_CONTINUED = 2
"""How often an answer that was cut off is continued."""
MAX_ANSWER = 8_000_000
"""Characters of one answer."""
MAX_CONVERSATION = 4_000_000
"""Characters of a conversation: more than any model can read, whatever token counts it reports."""
GO_ON = "Go on exactly where you stopped."

Record = Callable[[HistoryEntry], None]
"""Stores an entry of the history, before anything else is done with it."""


class Loop:
    """One task, from its history to its outcome. The tools of a run do not change under it."""

    def __init__(
        self,
        model: Model,
        executor: ToolExecutor,
        context: ExecutionContext,
        bounds: RunBounds = RunBounds(),  # noqa: B008 - frozen, safe to share
        *,
        tell: Tell,
        record: Record,
        prices: dict[str, Price] | None = None,
    ) -> None:
        self._model = model
        self._executor = executor
        self._context = context
        self._bounds = bounds
        self._tell = tell
        self._record = record
        self._price = price_of(model.name, prices or {})
        self._spent = Spending(cost=None if self._price is None else 0.0)
        self._history: list[HistoryEntry] = []
        self._length = 0
        self._calls = 0
        self._started = 0.0

    async def run(self, history: Sequence[HistoryEntry], system: str, tools: Sequence[ToolSpec]) -> Outcome:
        """Ends in one of the states of `RunEnd`; raises only if it is cancelled itself."""
        self._history = list(history)
        self._length = sum(map(length_of, history))
        self._started = time.monotonic()
        try:
            async with asyncio.timeout(self._bounds.seconds):
                return self._ended(await self._turns(system, tools))
        except TimeoutError:
            return self._ended(RunEnd.TIME)
        except DelegationFailed as failed:
            return self._ended(RunEnd.FAILED, failed.message, failed.hint)
        except asyncio.CancelledError:
            self._ended(RunEnd.CANCELLED)
            raise

    async def _turns(self, system: str, tools: Sequence[ToolSpec]) -> RunEnd:
        continued = same = 0
        before: object = None
        while True:
            over = RunEnd.FULL if self._length > MAX_CONVERSATION else exceeded(self._bounds, self._spent)
            if over is not None:
                return over
            answer = await self._answer(system, tools)
            if answer.stop is StopReason.CUT:
                continued += 1
                if continued > MAX_CONTINUED or not answer.text:
                    return RunEnd.CUT
                self._keep(TaskText(GO_ON))
                continue
            end = _END_OF.get(answer.stop)
            if end is not None or not (answer.uses or answer.stop is StopReason.PAUSED):
                return end or RunEnd.DONE
            if answer.uses:
                now = await self._carried_out(answer.uses)
                same = same + 1 if now == before else 1
                before = now
                if same >= MAX_SAME:
                    return RunEnd.LOOPING

    # ── the model ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _answer(self, system: str, tools: Sequence[ToolSpec]) -> ModelAnswer:
        request = ModelRequest(self._history, tools, system, room(self._bounds, self._spent))
        answer = await self._tried(request)
        self._spent = self._spent.plus(answer.usage, self._price)
        if answer.text or answer.uses or answer.raw:
            self._keep(answer)
        self._tell(AnswerEnded(self._spent.turns, answer.text, answer.usage))
        return answer

    async def _tried(self, request: ModelRequest) -> ModelAnswer:
        """Ask the model, with retries for failures that may pass by themselves."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._model.answer(request, self._listener())
            except ModelFailed as failed:
                wait = pause(attempt, failed.wait, random.random()) if failed.passing else None  # noqa: S311 - jitter
                if wait is None:
                    raise
                self._tell(RetryAnnounced(failed.message, wait, attempt))
            await asyncio.sleep(wait)

    def _listener(self) -> Say:
        """A listener that reports the text of the model, and stops an answer that never ends."""
        heard = 0

        def say(text: str) -> None:
            nonlocal heard
            text = without_surrogates(text)
            heard += len(text)
            if heard > MAX_ANSWER:
                raise ModelFailed(f"the answer is longer than {MAX_ANSWER} characters")
            self._tell(TextPiece(text))

        return say

    # ── the tools ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _carried_out(self, uses: Sequence[ToolUse]) -> object:
        """Carry out all calls of one answer, a few at a time. Gives calls and results, to tell whether they repeat."""
        gate = asyncio.Semaphore(self._bounds.parallel)

        async def one(at: int, use: ToolUse) -> ToolResult:
            if at >= MAX_USES:
                return ToolResult(use.id, f"not run: at most {MAX_USES} calls in one answer", is_error=True)
            async with gate:
                return await self._called(use)

        async with asyncio.TaskGroup() as group:
            running = [group.create_task(one(at, use)) for at, use in enumerate(uses)]
        results = tuple(task.result() for task in running)
        self._keep(ToolResults(results))
        return [(use.name, use.input, result.text) for use, result in zip(uses, results, strict=True)]

    async def _called(self, use: ToolUse) -> ToolResult:
        self._calls += 1
        self._tell(CallStarted(use))
        started = time.monotonic()
        done = await self._executed(use)
        result = done.to(use.id)
        self._tell(CallEnded(use, result, time.monotonic() - started, done.verdict))
        return result

    async def _executed(self, use: ToolUse) -> ToolExecutionResult:
        seconds = self._bounds.tool_seconds
        try:
            async with asyncio.timeout(seconds):
                spec = ToolCallSpec(use.name, dict(use.input))
                return await self._executor.execute(spec, use.id, self._context)
        except TimeoutError:
            return ToolExecutionResult("error", f"{use.name}: no answer within {seconds:g} s; the call was cancelled")

    # ── what is kept ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _keep(self, entry: HistoryEntry) -> None:
        self._record(entry)
        self._history.append(entry)
        self._length += length_of(entry)

    def _ended(self, end: RunEnd, reason: str = "", hint: str = "") -> Outcome:
        told, next_step = why(end, self._bounds)
        seconds = time.monotonic() - self._started
        text = self._last_text()
        outcome = Outcome(end, text, self._spent, self._calls, seconds, reason or told, hint or next_step)
        self._tell(outcome)
        return outcome

    def _last_text(self) -> str:
        """The text of the last answer, joined from its parts if it was continued."""
        parts: list[str] = []
        for entry in reversed(self._history):
            if isinstance(entry, ModelAnswer):
                parts.append(entry.text)
                if entry.stop is not StopReason.CUT and len(parts) > 1:
                    parts.pop()
                    break
            elif entry != TaskText(GO_ON):
                break
        return "".join(reversed(parts))


_END_OF = {StopReason.DONE: RunEnd.DONE, StopReason.REFUSED: RunEnd.REFUSED, StopReason.FULL: RunEnd.FULL}


def checked(outcome: Outcome) -> Outcome:
    """Raises DelegationFailed unless the task is done."""
    if outcome.state is not RunEnd.DONE:
        raise DelegationFailed(outcome.reason, hint=outcome.hint)
    return outcome

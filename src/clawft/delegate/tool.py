"""The tool `delegate__task`: whoever calls it hands a whole task over, hears how it goes, and gets the result."""

import asyncio
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.delegate.budget import RunEnd
from clawft.delegate.delegator import DelegateJob, Delegator
from clawft.delegate.events import AnswerEnded, CallEnded, CallStarted, Outcome, RetryAnnounced, RunEvent, TextPiece
from clawft.delegate.loop import checked
from clawft.delegate.rules import Decision
from clawft.delegate.turns import HistoryEntry
from clawft.model import Caller, Talk
from clawft.policy.delegation import Target
from clawft.policy.globs import MAX_HOSTILE_GLOB
from clawft.provider.context import ToolContext
from clawft.provider.function import FunctionProvider, tool
from clawft.provider.keeps import FIRST
from clawft.store.memory import MemoryStore

NAMESPACE = "delegate"
MAX_TASK = 100_000
PIECE = 80
"""Characters of text that are reported at once."""
MAX_REPORTED = 1_000
"""Characters of one report; the result has all of it."""
MAX_GLOBS = 256
"""Of tools that a delegate may use: all of them are made one pattern, while others wait."""

Globs = Annotated[list[Annotated[str, Meta(max_length=MAX_HOSTILE_GLOB)]], Meta(max_length=MAX_GLOBS)]


class DelegationResult(Struct):
    """What came of it."""

    target: str
    output: Annotated[str, FIRST]
    turns: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0


class ProgressReports:
    """Events of a run as MCP progress."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._count = 0
        self._said = ""

    def __call__(self, event: RunEvent) -> None:
        match event:
            case TextPiece(text):
                self._said += text
                if len(self._said) >= PIECE:
                    self._report_said()
            case AnswerEnded():
                self._report_said()
            case CallStarted(use):
                self._report(f"{use.name} …")
            case CallEnded(use, _, seconds, verdict):
                self._report(f"{use.name} {verdict} {seconds:.1f} s")
            case RetryAnnounced(reason, seconds):
                self._report(f"{reason}; again in {seconds:.1f} s")
            case Outcome(state):
                self._report(state.value)

    def _report_said(self) -> None:
        text, self._said = self._said, ""
        if text:
            self._report(text)

    def _report(self, message: str) -> None:
        self._count += 1
        shown = message if len(message) <= MAX_REPORTED else f"{message[:MAX_REPORTED]}…"
        self._talk.progress(self._count, None, shown)


def delegate_provider(delegator: Delegator, workspace: Path) -> FunctionProvider:
    @tool(name="task", alias="delegate_task", title="Delegate a task")
    async def task(
        task: Annotated[str, Meta(min_length=1, max_length=MAX_TASK, description="what is to be done")],
        ctx: ToolContext,
        target: Annotated[
            Literal["auto", "local", "claude", "openai", "flow"], "who is to do it; auto goes by the rules"
        ] = "auto",
        tools: Annotated[Globs | None, "globs of the tools it may use; all if left out"] = None,
    ) -> DelegationResult:
        """Hand a whole task to another model or agent, which works on it with the tools here and reports back."""
        decision = await asyncio.to_thread(_decided, delegator, task, Target(target), ctx.caller)
        chosen = decision.target
        if chosen is Target.LOCAL:
            return DelegationResult("local", f"this task stays with you: {decision.reason}")
        reports = ProgressReports(ctx.talk)
        job = DelegateJob(
            task,
            ctx.caller,
            reports,
            _forget,
            chosen,
            tuple(tools or ()),
            decision.tools,
            talk=ctx.talk,
            above=ctx.delegates,
        )
        return _result_of(chosen, checked(await delegator.run(job)))

    return FunctionProvider(NAMESPACE, [task], workspace=workspace, store=MemoryStore())


def _decided(delegator: Delegator, task: str, target: Target, caller: Caller) -> Decision:
    """Beside the loop: there may be many rules, and a secret may come from a program."""
    return delegator.decide(task, caller) if target is Target.AUTO else delegator.asked_for(task, target, "you said so")


def _result_of(target: Target, outcome: Outcome) -> DelegationResult:
    spent = outcome.spent
    cost = None if spent.cost is None else round(spent.cost, 6)
    output = outcome.text if outcome.state is RunEnd.DONE else outcome.reason
    return DelegationResult(
        target.value, output, spent.turns, outcome.calls, spent.usage.total, cost, round(outcome.seconds, 3)
    )


def _forget(entry: HistoryEntry) -> None:
    """The caller's own transcript has the call and its result; what happened in between is in the audit."""

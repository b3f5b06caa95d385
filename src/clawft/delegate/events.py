"""The events of a run, for whoever looks on: a terminal, a program behind a pipe, an MCP client."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from clawft.delegate.budget import RunEnd, Spending
from clawft.delegate.turns import TokenUsage, ToolResult, ToolUse


class TextPiece(Struct, frozen=True, tag="text"):
    """A piece of the answer."""

    text: str


class CallStarted(Struct, frozen=True, tag="tool_call"):
    use: ToolUse


class CallEnded(Struct, frozen=True, tag="tool_result"):
    use: ToolUse
    result: ToolResult
    seconds: float
    verdict: str
    """ok, error or not_found."""


class AnswerEnded(Struct, frozen=True, tag="answer"):
    """One whole answer of the model."""

    turn: int
    text: str
    usage: TokenUsage


class RetryAnnounced(Struct, frozen=True, tag="retry"):
    reason: str
    seconds: float
    attempt: int


class Outcome(Struct, frozen=True, tag="end"):
    """How it ended. `reason` and `hint` are empty if all went well."""

    state: RunEnd
    text: str = ""
    spent: Spending = Spending()
    calls: int = 0
    seconds: float = 0.0
    reason: str = ""
    hint: str = ""


RunEvent = TextPiece | CallStarted | CallEnded | AnswerEnded | RetryAnnounced | Outcome
Tell = Callable[[RunEvent], None]

"""The conversation with a model as data that is the same for every vendor: answers, tool calls, results, usage.

A history is a task, then answers and results in turn. `ModelAnswer.raw` is the answer as its vendor said it, so that
what we do not understand (thinking and its signature) goes back untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

import msgspec
from msgspec import Struct


class StopReason(Enum):
    """Why an answer ended; the values are those of the Messages API."""

    DONE = "end_turn"
    TOOLS = "tool_use"
    PAUSED = "pause_turn"
    CUT = "max_tokens"
    REFUSED = "refusal"
    FULL = "model_context_window_exceeded"


class TokenUsage(Struct, frozen=True):
    """Counts of tokens. `input` does not include those written to or read from a cache."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0

    def __add__(self, more: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.input + more.input,
            self.output + more.output,
            self.cache_write + more.cache_write,
            self.cache_read + more.cache_read,
        )

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_write + self.cache_read


MAX_COUNTED = 10**12
"""A larger count of tokens is no plausible one, and is cut to this."""


def counted(told: Any) -> int:
    """A count of tokens as a server reports it, within bounds; zero if it is no number."""
    return min(max(0, told), MAX_COUNTED) if isinstance(told, int) else 0


class ToolUse(Struct, frozen=True):
    """A tool call the model asks for. `name` is our name of the tool, not the spelling of its API."""

    id: str
    name: str
    input: Mapping[str, Any] = {}


class ToolResult(Struct, frozen=True):
    id: str
    text: str
    is_error: bool = False


class TaskText(Struct, frozen=True, tag="task"):
    text: str


class ModelAnswer(Struct, frozen=True, tag="answer"):
    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    stop: StopReason = StopReason.DONE
    usage: TokenUsage = TokenUsage()
    vendor: str = ""
    raw: Any = None


class ToolResults(Struct, frozen=True, tag="results"):
    results: tuple[ToolResult, ...]


HistoryEntry = TaskText | ModelAnswer | ToolResults


def length_of(entry: HistoryEntry) -> int:
    """About how many characters of an entry a model has to read."""
    match entry:
        case TaskText(text):
            return len(text)
        case ToolResults(results):
            return sum(len(each.text) for each in results)
        case ModelAnswer():
            return len(msgspec.json.encode(entry))


class ToolSpec(Struct, frozen=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    schema: Mapping[str, Any]


class ModelRequest(Struct, frozen=True):
    history: Sequence[HistoryEntry]
    tools: Sequence[ToolSpec] = ()
    system: str = ""
    max_tokens: int = 4096


Say = Callable[[str], None]
"""Hears a piece of text as soon as the model has said it."""


class Model(Protocol):
    """A model that answers. Raises ModelFailed, and retries nothing itself."""

    @property
    def name(self) -> str: ...

    async def answer(self, request: ModelRequest, say: Say) -> ModelAnswer: ...

    async def close(self) -> None: ...


def mended(history: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """The history with a result for every call and a call for every result, as the APIs insist.

    A call that was interrupted gets a result that says so.
    """
    entries: list[HistoryEntry] = []
    for entry in history:
        before = entries[-1] if entries else None
        uses = before.uses if isinstance(before, ModelAnswer) else ()
        if uses:
            entries.append(_results_for(uses, entry))
        if not isinstance(entry, ToolResults):
            entries.append(entry)
    if entries and isinstance(entries[-1], ModelAnswer) and entries[-1].uses:
        entries.append(_results_for(entries[-1].uses, None))
    return entries


def _results_for(uses: Sequence[ToolUse], after: HistoryEntry | None) -> ToolResults:
    results = {each.id: each for each in after.results} if isinstance(after, ToolResults) else {}
    return ToolResults(tuple(results.get(use.id) or ToolResult(use.id, INTERRUPTED, is_error=True) for use in uses))


INTERRUPTED = "interrupted: the run ended before this tool had answered; it may or may not have acted"

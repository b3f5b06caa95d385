"""What a task is made of while a model works on it: the same nouns for every model.

A history is a task, then answers and results in turn. `Answer.raw` is the answer as its vendor said it, so that what we
do not understand (thinking and its signature) goes back untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

import msgspec
from msgspec import Struct


class Stop(Enum):
    """Why an answer ended; the values are those of the Messages API."""

    DONE = "end_turn"
    TOOLS = "tool_use"
    PAUSED = "pause_turn"
    CUT = "max_tokens"
    REFUSED = "refusal"
    FULL = "model_context_window_exceeded"


class Usage(Struct, frozen=True):
    """Tokens. `input` has none of those that were written to or read from a cache."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0

    def __add__(self, more: Usage) -> Usage:
        return Usage(
            self.input + more.input,
            self.output + more.output,
            self.cache_write + more.cache_write,
            self.cache_read + more.cache_read,
        )

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_write + self.cache_read


MAX_COUNTED = 10**12
"""More than anybody can read or say; a larger count is none that can be reckoned with."""


def counted(told: Any) -> int:
    """Tokens as a server tells them; what is no count is none."""
    return min(max(0, told), MAX_COUNTED) if isinstance(told, int) else 0


class ToolUse(Struct, frozen=True):
    """A tool the model wants to be called. `name` is ours, not the spelling its API asked for."""

    id: str
    name: str
    input: Mapping[str, Any] = {}


class ToolResult(Struct, frozen=True):
    id: str
    text: str
    is_error: bool = False


class Task(Struct, frozen=True, tag="task"):
    text: str


class Answer(Struct, frozen=True, tag="answer"):
    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    stop: Stop = Stop.DONE
    usage: Usage = Usage()
    vendor: str = ""
    raw: Any = None


class Results(Struct, frozen=True, tag="results"):
    results: tuple[ToolResult, ...]


Entry = Task | Answer | Results


def length_of(entry: Entry) -> int:
    """About how many characters a model reads of it."""
    match entry:
        case Task(text):
            return len(text)
        case Results(results):
            return sum(len(each.text) for each in results)
        case Answer():
            return len(msgspec.json.encode(entry))


class ToolSpec(Struct, frozen=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    schema: Mapping[str, Any]


class Request(Struct, frozen=True):
    history: Sequence[Entry]
    tools: Sequence[ToolSpec] = ()
    system: str = ""
    max_tokens: int = 4096


Say = Callable[[str], None]
"""Hears a piece of text as soon as the model has said it."""


class Model(Protocol):
    """Whoever answers. Raises ModelFailed; nothing is tried twice in there."""

    @property
    def name(self) -> str: ...

    async def answer(self, request: Request, say: Say) -> Answer: ...

    async def close(self) -> None: ...


def mended(history: Sequence[Entry]) -> list[Entry]:
    """Every call has its result, as models insist: one that was broken off is answered so."""
    whole: list[Entry] = []
    for entry in history:
        _answer_open_calls(whole, entry)
        whole.append(entry)
    _answer_open_calls(whole, None)
    return whole


def _answer_open_calls(before: list[Entry], after: Entry | None) -> None:
    last = before[-1] if before else None
    if isinstance(last, Answer) and last.uses and not isinstance(after, Results):
        before.append(Results(tuple(ToolResult(use.id, INTERRUPTED, is_error=True) for use in last.uses)))


INTERRUPTED = "interrupted: the run ended before this tool had answered; it may or may not have acted"

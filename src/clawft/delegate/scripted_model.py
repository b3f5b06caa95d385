"""The scripted model: answers from a scenario, with no key and no network."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence

import msgspec

from clawft.delegate.retry import is_passing
from clawft.delegate.scenario import ChatMessage, ConversationView, Scenario, ScriptedTurn, offered, pick, said_by
from clawft.delegate.turns import (
    HistoryEntry,
    ModelAnswer,
    ModelRequest,
    Say,
    TaskText,
    TokenUsage,
    ToolResults,
    ToolUse,
)
from clawft.errors import ModelFailed

MAX_REMEMBERED = 10_000
CHARACTERS_PER_TOKEN = 4

_PIECES = re.compile(r"\S+\s*|\s+")


class ScriptedFaults:
    """The scripted failures a conversation has had already: the one thing its text does not tell."""

    def __init__(self) -> None:
        self._had: dict[str, int] = {}

    def next_of(self, turn: ScriptedTurn, number: int, seen: ConversationView) -> int | str | None:
        if not turn.fails:
            return None
        key = _digest(number, seen)
        had = self._had.get(key, 0)
        if had >= len(turn.fails):
            return None
        if len(self._had) >= MAX_REMEMBERED:
            self._had.clear()
        self._had[key] = had + 1
        return turn.fails[had]


def _digest(number: int, seen: ConversationView) -> str:
    return hashlib.sha256(msgspec.json.encode([number, seen.system, list(seen.messages)])).hexdigest()


class ScriptedModel:
    """A Model. Its text comes in pieces, like that of a real one."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._faults = ScriptedFaults()

    @property
    def name(self) -> str:
        return self._scenario.model

    async def answer(self, request: ModelRequest, say: Say) -> ModelAnswer:
        seen = _seen(request)
        picked = pick(self._scenario, seen)
        if picked is None:
            return _otherwise(self._scenario, say)
        number, turn = picked
        fault = self._faults.next_of(turn, number, seen)
        await asyncio.sleep(turn.wait_ms / 1000)
        text = said_by(turn, seen)
        if fault is not None:
            raise _failed(fault, turn, text, say)
        _speak(text, say)
        tools = [tool.name for tool in request.tools]
        uses = tuple(
            ToolUse(f"call_{number}_{at}", offered(call.tool, tools), call.input)
            for at, call in enumerate(turn.calls, 1)
        )
        return ModelAnswer(text, uses, turn.ends, usage_of(turn, seen, text))

    async def close(self) -> None:
        pass


def usage_of(turn: ScriptedTurn, seen: ConversationView, text: str) -> TokenUsage:
    """As the script says, else by rule of thumb."""
    if turn.usage is not None:
        return TokenUsage(*msgspec.structs.astuple(turn.usage))
    read = len(seen.system) + sum(len(message.text) for message in seen.messages)
    return TokenUsage(1 + read // CHARACTERS_PER_TOKEN, 1 + len(text) // CHARACTERS_PER_TOKEN)


def pieces(text: str) -> list[str]:
    """As a model streams: word by word."""
    return _PIECES.findall(text)


def _speak(text: str, say: Say) -> None:
    for piece in pieces(text):
        say(piece)


def _failed(fault: int | str, turn: ScriptedTurn, text: str, say: Say) -> ModelFailed:
    if isinstance(fault, int):
        return ModelFailed(
            f"the scenario answers with status {fault}",
            http_status=fault,
            passing=is_passing(fault),
            wait=turn.retry_after,
        )
    _speak(text[: len(text) // 2], say)
    return ModelFailed("the answer broke off in the middle", passing=True, wait=turn.retry_after)


def _otherwise(scenario: Scenario, say: Say) -> ModelAnswer:
    if not scenario.otherwise:
        raise no_turn()
    _speak(scenario.otherwise, say)
    return ModelAnswer(scenario.otherwise)


def no_turn() -> ModelFailed:
    hint = "add a turn, or `otherwise = …` for everything else"
    return ModelFailed("no turn of the scenario matches here", http_status=400, hint=hint)


def _seen(request: ModelRequest) -> ConversationView:
    return ConversationView(messages_of(request.history), request.system, [tool.name for tool in request.tools])


def messages_of(history: Sequence[HistoryEntry]) -> list[ChatMessage]:
    return [_message(entry) for entry in history]


def _message(entry: HistoryEntry) -> ChatMessage:
    match entry:
        case TaskText(text):
            return ChatMessage("user", text)
        case ToolResults(results):
            return ChatMessage("user", "\n".join(result.text for result in results))
        case ModelAnswer():
            return ChatMessage("assistant", entry.text)

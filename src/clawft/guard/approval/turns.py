"""Lets one of several simultaneous calls ask a question; the others use its answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeVar

from clawft.model import BackgroundTalk, Call

MAX_NOTED = 1_000
"""How many declined or open questions are remembered."""

Turn = tuple[str, str, str, str, bool]
T = TypeVar("T")


def turn_of(call: Call) -> Turn:
    """The key of the calls that share a question. Tasks are apart: theirs wait until somebody looks, and other calls
    must not.
    """
    caller = call.caller
    return caller.principal, caller.session, caller.agent, call.name, isinstance(call.talk, BackgroundTalk)


class _TurnLock(asyncio.Lock):
    """A lock that counts its waiters: between a release and the next holder `asyncio.Lock` looks unused."""

    wanted = 0


class Turns:
    def __init__(self) -> None:
        self.locks: dict[Turn, _TurnLock] = {}
        self._declined: dict[Turn, tuple[float, str]] = {}
        """When a question was last not answered with yes, and the words of the refusal."""
        self._put: dict[Turn, str] = {}
        """Questions whose answer a later call brings, with a pin of what the server offered when they were put."""

    @asynccontextmanager
    async def taken(self, turn: Turn) -> AsyncGenerator[None]:
        lock = self.locks.setdefault(turn, _TurnLock())
        lock.wanted += 1
        try:
            async with lock:
                yield
        finally:
            lock.wanted -= 1
            if not lock.wanted:
                del self.locks[turn]

    def decline(self, turn: Turn, refusal: str) -> None:
        _note(self._declined, turn, (time.monotonic(), refusal))

    def declined_since(self, turn: Turn, began: float) -> str:
        """The refusal, if the question was declined since then; else empty."""
        when, refusal = self._declined.get(turn, (0.0, ""))
        return refusal if when > began else ""

    def put(self, turn: Turn, everything: str) -> None:
        _note(self._put, turn, everything)

    def take_put(self, turn: Turn) -> str | None:
        """The pin of what the server offered when the question was put, if this call may bring its answer."""
        return self._put.pop(turn, None)


def _note(notes: dict[Turn, T], turn: Turn, what: T) -> None:
    if len(notes) >= MAX_NOTED:
        notes.clear()
    notes[turn] = what

"""Of calls that would put the same question at once, one puts it; the others go by its answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeVar

from clawft.model import Call

MAX_NOTED = 1_000
"""Questions of which we remember that they were declined, or what there was when they were put."""

Turn = tuple[str, str, str, str]
T = TypeVar("T")


def turn_of(call: Call) -> Turn:
    return call.caller.principal, call.caller.session, call.caller.agent, call.name


class _TurnLock(asyncio.Lock):
    """Between whoever lets go of it and the next, it looks as if nobody wanted it: so they are counted."""

    wanted = 0


class Turns:
    def __init__(self) -> None:
        self.locks: dict[Turn, _TurnLock] = {}
        self._declined: dict[Turn, tuple[float, str]] = {}
        """When a question was last not answered with a yes, and how that is told."""
        self._put: dict[Turn, str] = {}
        """Questions that a later call answers: a pin of all there was when they were put."""

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
        """How the refusal was told; empty if there was none since then."""
        when, refusal = self._declined.get(turn, (0.0, ""))
        return refusal if when > began else ""

    def put(self, turn: Turn, everything: str) -> None:
        _note(self._put, turn, everything)

    def take_put(self, turn: Turn) -> str | None:
        """What there was when the question was put that this call may bring the answer to."""
        return self._put.pop(turn, None)


def _note(notes: dict[Turn, T], turn: Turn, what: T) -> None:
    if len(notes) >= MAX_NOTED:
        notes.clear()
    notes[turn] = what

"""Places for the commands of built-in tools: a machine has few cores, and whoever has them start keeps others waiting.

So few run at a time, what is looked up for them included; callers take turns for the next place, and where too many
wait it is busy. Nobody who has a place waits for another, or for a person: so each of them comes free.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from clawft.link.share.gate import Gate, Who, sharer
from clawft.model import Caller

MAX_PER_CORE = 4
MAX_ON_FEW_CORES = 8
"""Commands at a time; many of them wait for something else than a core."""


class Turn:
    """Whose call it is that runs commands, and whether it has begun: one that stopped half-way would help nobody."""

    def __init__(self, caller: Caller) -> None:
        self.who = sharer(caller)
        self.begun = False


@asynccontextmanager
async def place(turn: Turn, seconds: float) -> AsyncGenerator[float]:
    """A place, and what is left of so much time. Raises Busy if none comes free in it, or too many wait.

    Whoever holds one asks for no other, and asks nobody anything.
    """
    places = _command_places()
    seconds = await places.take(turn, seconds)
    try:
        yield seconds
    finally:
        places.leave(turn)


class CommandPlaces:
    """Of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._running: Counter[Who] = Counter()
        self._gate = Gate(
            "this machine",
            max(MAX_ON_FEW_CORES, MAX_PER_CORE * (os.cpu_count() or 1)),
            runs=lambda who: self._running[who] > 0,
            advice="run fewer commands at a time, or give them more time",
        )

    async def take(self, turn: Turn, seconds: float) -> float:
        if not self._gate.try_enter():
            seconds = await self._gate.enter_within(seconds, turn.who, begun=turn.begun)
        turn.begun = True
        self._running[turn.who] += 1
        return seconds

    def leave(self, turn: Turn) -> None:
        self._running[turn.who] -= 1
        if not self._running[turn.who]:
            del self._running[turn.who]
        self._gate.leave()


_open: list[CommandPlaces] = []


def _command_places() -> CommandPlaces:
    """There is one, and a new one only with a new loop."""
    loop = asyncio.get_running_loop()
    if not _open or _open[0].loop is not loop:
        _open[:] = [CommandPlaces(loop)]
    return _open[0]

"""Bounds how many commands of built-in tools run at a time, as a machine has few cores.

A command, and what is looked up for it, runs in a place. Callers take turns for the next free one; where too many wait,
the call fails as busy. Nobody who holds a place waits for another one, or for a person, so every place comes free.
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
"""How many commands may run at a time; many of them wait for something other than a core."""


class Turn:
    """The caller whose call runs commands, and whether it has begun: then it is never refused for lack of room."""

    def __init__(self, caller: Caller) -> None:
        self.who = sharer(caller)
        self.begun = False


@asynccontextmanager
async def place(turn: Turn, seconds: float) -> AsyncGenerator[float]:
    """Hold a place; gives the seconds that are left. Raises Busy if none comes free in time, or too many wait.

    The holder must not ask for a second place, nor wait for a person.
    """
    places = _command_places()
    seconds = await places.take(turn, seconds)
    try:
        yield seconds
    finally:
        places.leave(turn)


class CommandPlaces:
    """The places of one event loop."""

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
    """The places of the running loop, made anew when the loop is another one."""
    loop = asyncio.get_running_loop()
    if not _open or _open[0].loop is not loop:
        _open[:] = [CommandPlaces(loop)]
    return _open[0]

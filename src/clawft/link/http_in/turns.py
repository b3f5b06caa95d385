"""Requests that were sent ahead of their answers: a few of them, of all connections, in one turn of the loop.

A client that waits for its answer has one request in a turn. Those that do not wait would have as many as there are
connections, each time, and whoever comes new would wait for all of them again and again.
"""

import asyncio
from collections import deque
from typing import Final

AT_ONCE: Final = 4


class LoopTurns:
    """First come, first served, `AT_ONCE` of them before the loop looks who else wants something."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        """Until it is this one's turn."""
        mine: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._call)
        await mine

    def _call(self) -> None:
        for _ in range(min(AT_ONCE, len(self._waiting))):
            one = self._waiting.popleft()
            if not one.done():
                one.set_result(None)
        if self._waiting:
            self._loop.call_soon(self._call)

"""Pipelined requests and bodies in tiny pieces: only a few of them, of all connections, run in one turn of the loop.

A client that waits for its answer has one request in a turn. Those that do not wait would have as many as there are
connections, each time, and whoever comes new would wait for all of them again and again.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

AT_ONCE: Final = 4


class LoopTurns:
    """First come, first served, `AT_ONCE` of them before the loop looks who else wants something."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callable[[], object]] = deque()
        self._called = False

    async def wait(self) -> None:
        """Until it is this one's turn."""
        mine: asyncio.Future[None] = self._loop.create_future()
        self.call(lambda: mine.done() or mine.set_result(None))
        await mine

    def call(self, then: Callable[[], object]) -> None:
        """Have this called when it is its turn."""
        self._waiting.append(then)
        if not self._called:
            self._called = True
            self._loop.call_soon(self._call)

    def _call(self) -> None:
        for _ in range(min(AT_ONCE, len(self._waiting))):
            self._waiting.popleft()()  # which may wait for another one at once
        self._called = bool(self._waiting)
        if self._called:
            self._loop.call_soon(self._call)

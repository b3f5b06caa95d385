"""How many calls one server gets at a time: some run, some wait, the rest are told at once that it is busy."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from clawft.errors import Busy

MAX_RUNNING = 64
MAX_QUEUED = 256


class Gate:
    def __init__(
        self,
        server: str,
        running: int = MAX_RUNNING,
        queued: int = MAX_QUEUED,
        quiet: Callable[[], None] = lambda: None,
    ) -> None:
        """`quiet` is told when the last call has ended."""
        self._server = server
        self._quiet = quiet
        self._running_limit = running
        self._queue_limit = queued
        self._queue: deque[asyncio.Future[None]] = deque()
        self.running = 0

    def try_enter(self) -> bool:
        """At once, if there is a place; the usual case, and cheaper than waiting for nothing."""
        if self.running >= self._running_limit:
            return False
        self.running += 1
        return True

    async def __aenter__(self) -> None:
        if not self.try_enter():
            await self.enter()

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    async def enter(self) -> None:
        """Raises Busy when running and waiting places are all taken."""
        if self.try_enter():
            return
        if len(self._queue) >= self._queue_limit:
            raise Busy(
                f"{self._server} is busy: {self._running_limit} calls run and {self._queue_limit} wait",
                hint="try again when some have finished",
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()  # the place was given to us while we were leaving
            raise

    def leave(self) -> None:
        """Hand the place to the next in the queue, or give it back."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1
        if not self.running:
            self._quiet()

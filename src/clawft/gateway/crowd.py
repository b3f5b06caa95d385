"""A crowd of requests on one connection: while it is there, the input is not read on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

STILL_SECONDS = 10.0
"""If none of a crowd ends for so long, the input is read on: they may wait for what comes there."""


class Crowd:
    """`stop` is called when it has come together, `go_on` when half of it has left.

    Also when nobody leaves any more: then the input may hold the answers to questions and the ends of listens, and
    further requests are "busy".
    """

    def __init__(self, size: int, stop: Callable[[], None], go_on: Callable[[], None]) -> None:
        self._enough_left = size // 2
        self._stop = stop
        self._go_on = go_on
        self.is_here = False
        self._has_moved = False
        """Somebody has left since we looked."""
        self._look: asyncio.TimerHandle | None = None

    def gather(self) -> None:
        """There are as many as it takes, or still more."""
        if not self.is_here:
            self.is_here = True
            self._stop()
            self._look_later()

    def leave(self, left: int) -> None:
        """One of it has ended, and so many are left."""
        self._has_moved = True
        if left <= self._enough_left:
            self.is_here = False
            if self._look is not None:
                self._look.cancel()
            self._go_on()

    def _look_later(self) -> None:
        self._has_moved = False
        self._look = asyncio.get_running_loop().call_later(STILL_SECONDS, self._look_at_it)

    def _look_at_it(self) -> None:
        if self._has_moved:
            self._look_later()
        else:
            self._go_on()

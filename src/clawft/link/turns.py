"""Large answers of one server are read one after the other: each is within its bound, but all at once are not.

Whoever waits for a turn reads no further, and so its sender waits too. A server that never ends a large answer holds up
only its own others, until somebody's patience ends.
"""

from __future__ import annotations

import asyncio
from typing import Self

from clawft.link.heap import keep_large_blocks

ALONE_FROM = 64 * 1024
"""Bytes of one answer that are held without a turn; there may be as many of these as calls in flight."""


class Turns:
    """Of one link."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    def turn(self) -> Turn:
        return Turn(self._lock)


class Turn:
    """Of one answer, or of one stream for as long as it is in the middle of a large event."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._mine = False

    async def hold(self, size: int) -> None:
        """So many bytes are held now: wait for the turn where it takes one, and leave time to others in any case."""
        if size < ALONE_FROM:
            self.end()
        elif self._mine:
            await asyncio.sleep(0)
        else:
            await self._lock.acquire()
            self._mine = True
            keep_large_blocks()

    def end(self) -> None:
        if self._mine:
            self._mine = False
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

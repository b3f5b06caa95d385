"""How many servers are open at a time. One that is idle gives way to one that is wanted, first to one that is called.

Servers that conversations have for themselves are as many as there are conversations: once they have half of the
places, they push out each other only, and never those that all share.

Who gets a place is computed at once; only waiting for one takes time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from msgspec import Struct

MAX_CONNECTIONS = 20


class SlotHolder(Protocol):
    """A server that has a place, or wants one."""

    used: float
    """When it was last called."""
    private: bool
    """Of one conversation, or one person."""

    @property
    def is_idle(self) -> bool: ...

    @property
    def has_callers(self) -> bool:
        """Does a call wait for it?"""
        ...

    def give_way(self) -> None:
        """Close: the place is someone else's already."""
        ...


class _Waiter(Struct):
    holder: SlotHolder
    turn: asyncio.Future[None]


class Slots:
    def __init__(self, limit: int = MAX_CONNECTIONS) -> None:
        self.limit = limit
        self._holders: list[SlotHolder] = []
        self._queue: deque[_Waiter] = deque()
        self._door = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._holders)

    async def enter(self, holder: SlotHolder) -> None:
        """Wait for a place; there is one at once if it is free, or someone idle gives way."""
        if holder not in self._holders and not self._take(holder):
            await self._turn_of(holder)
        async with self._door:
            await asyncio.sleep(0)  # one at a time: to start a program takes a while, and callers are heard in between

    async def _turn_of(self, holder: SlotHolder) -> None:
        waiter = _Waiter(holder, asyncio.get_running_loop().create_future())
        self._queue.append(waiter)
        try:
            await waiter.turn
        finally:
            if waiter in self._queue:
                self._queue.remove(waiter)

    def is_queued(self, holder: SlotHolder) -> bool:
        return any(waiter.holder is holder for waiter in self._queue)

    def claim(self, holder: SlotHolder) -> None:
        """A place for a call that waits: now, or else as soon as one of those in use is idle."""
        if holder not in self._holders and not self._take(holder):
            return
        for waiter in self._queue:
            if waiter.holder is holder and not waiter.turn.done():
                waiter.turn.set_result(None)

    def leave(self, holder: SlotHolder) -> None:
        if holder in self._holders:
            self._holders.remove(holder)
            self.look()

    def look(self) -> None:
        """Something has changed: let those in who can come in now, and those that are called before all others."""
        for waiter in sorted(self._queue, key=lambda waiter: not waiter.holder.has_callers):
            if waiter.turn.done() or self._take(waiter.holder):
                self._queue.remove(waiter)
                if not waiter.turn.done():
                    waiter.turn.set_result(None)
            elif not waiter.holder.private:
                return  # whoever stands behind it could not come in either

    def _take(self, holder: SlotHolder) -> bool:
        if len(self._holders) >= self.limit:
            spared = holder.private and sum(other.private for other in self._holders) >= self.limit // 2
            idle = [other for other in self._holders if other.is_idle and (other.private or not spared)]
            if not idle:
                return False
            gone = min(idle, key=lambda other: other.used)
            self._holders.remove(gone)
            gone.give_way()
        self._holders.append(holder)
        return True

"""A bound on open servers. An idle one is closed for one that is wanted; servers with waiting calls come first.

There may be as many private servers as conversations. Once they have half of the slots they only replace each other,
and never a shared server.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from msgspec import Struct

MAX_CONNECTIONS = 20


class SlotHolder(Protocol):
    """A server that has a slot, or wants one."""

    used: float
    """When it was last called."""
    private: bool
    """Of one conversation, or one person."""

    @property
    def is_idle(self) -> bool: ...

    @property
    def has_callers(self) -> bool:
        """Whether a call waits for it."""
        ...

    def give_way(self) -> None:
        """Close: the slot was given to another."""
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
        """Wait for a slot. There is one at once if one is free, or held by an idle server."""
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
        """A call waits for this server: give it a slot now if possible, else as soon as one is idle."""
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
        """Give free slots to those that wait, first to servers with waiting calls."""
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

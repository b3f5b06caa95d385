"""What waits to be taken: by servers that do not read their input, by clients that do not read their answers.

Each is within its bound, but all at once are not. Who keeps up is never counted. Where too much waits for the others,
whoever has taken nothing for longest is given up: nobody else has to do without because of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from clawft.link.share.memory_budget import MEMORY_BUDGET

MAX_UNREAD_BYTES = 16 * 1024 * 1024
"""For all together; one alone has its own bound."""
PACE_BYTES = 64 * 1024
"""Less than that is not taken for reading."""
IDLE_SECONDS = 3.0
"""A client that has taken nothing for so long gives way to another that has its answer ready."""

_clock = time.monotonic


class Unread:
    """Of whatever shares a bound: all links of this process."""

    def __init__(self, limit: int = MAX_UNREAD_BYTES) -> None:
        self._limit = limit
        self.takers: dict[Taker, None] = {}
        self.bytes = 0
        self.given_up = 0
        """So many took nothing while others needed the room."""

    def look(self) -> None:
        """Give up the slowest, if there is too much."""
        MEMORY_BUDGET.enforce()
        if self.bytes <= self._limit:
            return
        for taker in self.takers:
            taker.look()
        while self.bytes > self._limit and len(self.takers) > 1:
            self._give_up(min(self.takers, key=_since))

    def give_up_idle(self) -> bool:
        """Clients that take nothing, for the sake of one that would. False if there were none."""
        for taker in self.takers:
            taker.look()
        now = _clock()
        idle = [taker for taker in self.takers if taker.since + taker.patience < now]
        for taker in idle:
            self._give_up(taker)
        return bool(idle)

    def _give_up(self, taker: Taker) -> None:
        size = taker.size
        self.given_up += 1
        taker.took_all()
        taker.give_up(size)


UNREAD = Unread()
MEMORY_BUDGET.add_required(lambda: UNREAD.bytes)


def _never() -> bool:
    return False


class Taker:
    """One that something waits for, from when it no longer keeps up until it has taken all, or is gone."""

    def __init__(
        self,
        waiting: Callable[[], int],
        give_up: Callable[[int], None],
        *,
        patience: float = inf,
        is_held_up: Callable[[], bool] = _never,
        unread: Unread = UNREAD,
    ) -> None:
        """`waiting` tells the bytes that it has not taken now, `give_up` is told of how many others need the room.

        `patience`: seconds of taking nothing that are not held against it, if somebody else could take something. Nor
        are those in which it `is_held_up` by us.
        """
        self.waiting = waiting
        self.give_up = give_up
        self.patience = patience
        self._is_held_up = is_held_up
        self._unread = unread
        self._taken = 0
        self._seen = 0.0
        self.size = 0
        """Of what waits, when we looked last; 0 if it keeps up."""
        self.since = 0.0
        """When it began to wait, or was last seen reading; later by as long as we held it up."""

    def wait(self, more: int = 0) -> None:
        """It does not keep up, and so many bytes came just now."""
        if not self.size:
            self._unread.takers[self] = None
            self.since = self._seen = _clock()
            self._taken = 0
            more = self.waiting()
        self._count(more)
        self._unread.look()

    def look(self) -> None:
        self._count(0)

    def _count(self, more: int) -> None:
        size = max(self.waiting(), 1)
        self._taken += self.size + more - size
        self._unread.bytes += size - self.size
        self.size = size
        now = _clock()
        if self._taken >= PACE_BYTES:
            self._taken = 0
            self.since = now
        elif self._is_held_up():
            self.since += now - self._seen
        self._seen = now

    def took_all(self) -> None:
        """The other side has taken everything, or nothing is kept for it any more."""
        if self.size:
            del self._unread.takers[self]
            self._unread.bytes -= self.size
            self.size = 0


def _since(taker: Taker) -> float:
    return taker.since

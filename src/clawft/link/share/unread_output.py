"""One bound on the output that nobody has read: by servers that do not read their input, by clients that do not read
their answers.

Each connection has a bound of its own, but all of them together would exceed our memory. A reader that keeps up is not
counted. When the slow ones together have too much, the one that has read nothing for longest is given up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from clawft.link.share.memory_budget import MEMORY_BUDGET

MAX_UNREAD_BYTES = 16 * 1024 * 1024
"""For all slow readers together; one alone has its own bound."""
PACE_BYTES = 64 * 1024
"""Fewer bytes than these do not count as reading."""
IDLE_SECONDS = 3.0
"""A client that has read nothing for so long is given up for another whose answer is ready."""

_clock = time.monotonic


class UnreadOutput:
    """The output of all slow readers. The process has one, `UNREAD`; tests make smaller ones."""

    def __init__(self, limit: int = MAX_UNREAD_BYTES) -> None:
        self._limit = limit
        self.readers: dict[SlowReader, None] = {}
        self.bytes = 0
        self.given_up = 0
        """How many readers were given up because others needed the room."""

    def enforce(self) -> None:
        """Give up the slowest readers while there is too much."""
        MEMORY_BUDGET.enforce()
        if self.bytes <= self._limit:
            return
        for reader in self.readers:
            reader.update()
        while self.bytes > self._limit and len(self.readers) > 1:
            self._give_up(min(self.readers, key=_since))

    def give_up_idle(self) -> bool:
        """Give up clients that read nothing, for one that would. False if there were none."""
        for reader in self.readers:
            reader.update()
        now = _clock()
        idle = [reader for reader in self.readers if reader.since + reader.grace < now]
        for reader in idle:
            self._give_up(reader)
        return bool(idle)

    def _give_up(self, reader: SlowReader) -> None:
        size = reader.size
        self.given_up += 1
        reader.caught_up()
        reader.give_up(size)


UNREAD = UnreadOutput()
MEMORY_BUDGET.add_required(lambda: UNREAD.bytes)


def _never() -> bool:
    return False


class SlowReader:
    """The other side of one connection; counted from when it no longer keeps up until it has read all, or is gone."""

    def __init__(
        self,
        waiting: Callable[[], int],
        give_up: Callable[[int], None],
        *,
        grace: float = inf,
        is_held_up: Callable[[], bool] = _never,
        unread: UnreadOutput = UNREAD,
    ) -> None:
        """`waiting` returns the bytes it has not read; `give_up` is called with them when others need the room.

        `grace`: how many seconds it may read nothing while somebody else could. Time in which it `is_held_up` by us
        does not count.
        """
        self.waiting = waiting
        self.give_up = give_up
        self.grace = grace
        self._is_held_up = is_held_up
        self._unread = unread
        self._taken = 0
        self._seen = 0.0
        self.size = 0
        """Bytes it had not read at the last update; 0 while it keeps up."""
        self.since = 0.0
        """When it began to lag, or was last seen reading; moved on by the time that we held it up."""

    def lag(self, more: int = 0) -> None:
        """Note that the reader does not keep up, and that `more` bytes were written just now."""
        if not self.size:
            self._unread.readers[self] = None
            self.since = self._seen = _clock()
            self._taken = 0
            more = self.waiting()
        self._count(more)
        self._unread.enforce()

    def update(self) -> None:
        """See how much it has read since."""
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

    def caught_up(self) -> None:
        """Note that the reader has read everything, or that nothing is kept for it any more."""
        if self.size:
            del self._unread.readers[self]
            self._unread.bytes -= self.size
            self.size = 0


def _since(reader: SlowReader) -> float:
    return reader.since

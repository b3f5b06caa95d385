"""New connections that found no place wait for one, for a moment and in the order they came.

If they were refused at once, a client that reconnects at once would always be first when a place is free.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from clawft.link.http_in.head import Limits, Refusal

PER_WAITING: Final = 2
"""For so many connections one more may wait."""
MAX_WAITING_OF_ONE: Final = 16
"""Of one address other than this machine's own."""
LOOK_SECONDS: Final = 0.02


class WaitingConnection(Protocol):
    network: str

    def admitted(self) -> None: ...

    def reject(self, refusal: Refusal) -> None: ...


T = TypeVar("T", bound=WaitingConnection)


class WaitingConnections(Generic[T]):
    def __init__(self, loop: asyncio.AbstractEventLoop, limits: Limits, admit: Callable[[T], Refusal | None]) -> None:
        """`admit` gives a connection a place, or says why not."""
        self._loop = loop
        self._most = limits.connections // PER_WAITING
        self._seconds = limits.waiting_seconds
        self._admit = admit
        self._queue: deque[tuple[T, float]] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def try_add(self, newcomer: T) -> bool:
        """Let it wait, to be admitted or rejected later. False if too many do."""
        same = sum(newcomer.network == other.network for other, _ in self._queue) if newcomer.network else 0
        if len(self._queue) >= self._most or same >= MAX_WAITING_OF_ONE:
            return False
        if not self._queue:
            self._loop.call_later(LOOK_SECONDS, self._look)
        self._queue.append((newcomer, self._loop.time() + self._seconds))
        return True

    def remove(self, newcomer: T) -> None:
        self._queue = deque(each for each in self._queue if each[0] is not newcomer)

    def close(self, refusal: Refusal) -> None:
        """Reject all that wait."""
        while self._queue:
            self._queue.popleft()[0].reject(refusal)

    def _look(self) -> None:
        now = self._loop.time()
        while self._queue:
            first, until = self._queue[0]
            refusal = self._admit(first)
            if refusal is not None and now < until:
                break
            self._queue.popleft()
            if refusal is None:
                first.admitted()
            else:
                first.reject(refusal)
        if self._queue:
            self._loop.call_later(LOOK_SECONDS, self._look)

"""Connections that found no place wait outside for a moment, in the order they came.

Were they refused at once, whoever comes again at once would always be there first when a place is free.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from clawft.link.http_in.head import Limits, Refusal

OUTSIDE: Final = 2
"""For so many connections, one more may wait."""
MAX_OUTSIDE_OF_ONE: Final = 16
"""Of one address other than this machine's own."""
LOOK_SECONDS: Final = 0.02


class PorchConnection(Protocol):
    home: str

    def come_in(self) -> None: ...

    def turn_away(self, refusal: Refusal) -> None: ...


T = TypeVar("T", bound=PorchConnection)


class Porch(Generic[T]):
    def __init__(self, loop: asyncio.AbstractEventLoop, limits: Limits, admit: Callable[[T], Refusal | None]) -> None:
        """`admit` counts one in, or says why not."""
        self._loop = loop
        self._most = limits.connections // OUTSIDE
        self._seconds = limits.outside_seconds
        self._admit = admit
        self._outside: deque[tuple[T, float]] = deque()

    def __len__(self) -> int:
        return len(self._outside)

    def takes(self, newcomer: T) -> bool:
        """From now on it waits, and is let in or turned away later; False if too many do."""
        same = sum(newcomer.home == other.home for other, _ in self._outside) if newcomer.home else 0
        if len(self._outside) >= self._most or same >= MAX_OUTSIDE_OF_ONE:
            return False
        if not self._outside:
            self._loop.call_later(LOOK_SECONDS, self._look)
        self._outside.append((newcomer, self._loop.time() + self._seconds))
        return True

    def leave(self, newcomer: T) -> None:
        self._outside = deque(each for each in self._outside if each[0] is not newcomer)

    def close(self, refusal: Refusal) -> None:
        """All who wait are turned away."""
        while self._outside:
            self._outside.popleft()[0].turn_away(refusal)

    def _look(self) -> None:
        now = self._loop.time()
        while self._outside:
            first, until = self._outside[0]
            refusal = self._admit(first)
            if refusal is not None and now < until:
                break
            self._outside.popleft()
            if refusal is None:
                first.come_in()
            else:
                first.turn_away(refusal)
        if self._outside:
            self._loop.call_later(LOOK_SECONDS, self._look)

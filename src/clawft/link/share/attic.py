"""What is in our memory until somebody takes it: one bound for all kinds of it together.

Some of it is on its way: messages that are not whole yet, and what those who do not read have not taken. Each kind of
that has its own bound, and none can be done without. The rest is only kept, for whoever may come back for it: events of
streams, long texts, results, resources. That has what the others leave of it, and gives way to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

MAX_BYTES = 16 * 1024 * 1024
SPARED_BYTES = 1024 * 1024
"""What each kind may keep in any case: whoever has a little there does not lose it to those who need much."""


class AtticKind(Protocol):
    """One kind of what is only kept."""

    @property
    def bytes(self) -> int: ...

    def give_way(self) -> bool:
        """Do without one of them. False if it is not possible."""
        ...


class Attic:
    """Of whatever shares a bound: all that this process holds."""

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self._limit = limit
        self._on_the_way: list[Callable[[], int]] = []
        self._kinds: WeakSet[AtticKind] = WeakSet()

    def count(self, on_the_way: Callable[[], int]) -> None:
        """It tells how many bytes there are of something that cannot be done without."""
        self._on_the_way.append(on_the_way)

    def lend(self, kind: AtticKind) -> None:
        """For as long as there is this kind."""
        self._kinds.add(kind)

    def has_room(self, size: int) -> bool:
        """For so much that is only kept, if all else of that kind gave way. Who asks first need not have it in vain."""
        return size <= max(self._left(), SPARED_BYTES)

    def _left(self) -> int:
        """For what is only kept."""
        return self._limit - sum(size() for size in self._on_the_way)

    def settle(self) -> None:
        """After something grew: as long as there is too much, the kind that has most gives way. On the loop only."""
        left = self._left()
        while sum(map(_size, self._kinds)) > left:
            large = sorted((kind for kind in self._kinds if kind.bytes > SPARED_BYTES), key=_size, reverse=True)
            if not any(kind.give_way() for kind in large):
                return


def _size(kind: AtticKind) -> int:
    return kind.bytes


ATTIC = Attic()

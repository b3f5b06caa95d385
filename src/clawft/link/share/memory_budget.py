"""One bound on the memory of everything that waits in this process to be taken by somebody.

Some of it is required: messages that are not whole yet, and output that its reader has not taken. Each kind of that
has a bound of its own. The rest are caches: stream events, long texts, results and resources, kept for whoever comes
back for them. They share the room that is left, and are evicted when the required part needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

MAX_BYTES = 16 * 1024 * 1024
SPARED_BYTES = 1024 * 1024
"""The bytes each cache may hold in any case: one that holds little does not lose it to those that hold much."""


class Evictable(Protocol):
    """A cache that shares the budget."""

    @property
    def bytes(self) -> int: ...

    def evict_one(self) -> bool:
        """Drop one item. False if no item can be dropped."""
        ...


class MemoryBudget:
    """The process has one, `MEMORY_BUDGET`; tests make smaller ones."""

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self._limit = limit
        self._required: list[Callable[[], int]] = []
        self._caches: WeakSet[Evictable] = WeakSet()

    def add_required(self, size: Callable[[], int]) -> None:
        """Count the bytes that `size` returns; they are never evicted."""
        self._required.append(size)

    def add_cache(self, cache: Evictable) -> None:
        """Count this cache for as long as it exists."""
        self._caches.add(cache)

    def has_room(self, size: int) -> bool:
        """Whether a cache could hold an item of this size if all other items were evicted."""
        return size <= max(self._left(), SPARED_BYTES)

    def _left(self) -> int:
        """Bytes that the required part leaves to the caches."""
        return self._limit - sum(size() for size in self._required)

    def enforce(self) -> None:
        """Evict from the largest cache until all fit. Call it on the loop, whenever something has grown."""
        left = self._left()
        while sum(map(_size, self._caches)) > left:
            large = sorted((cache for cache in self._caches if cache.bytes > SPARED_BYTES), key=_size, reverse=True)
            if not any(cache.evict_one() for cache in large):
                return


def _size(cache: Evictable) -> int:
    return cache.bytes


MEMORY_BUDGET = MemoryBudget()

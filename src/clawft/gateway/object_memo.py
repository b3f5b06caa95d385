"""Remembers a result that was worked out for an object, for as long as that very object comes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ObjectMemo(Generic[K, V]):
    """For things that cost more to compare than to make. Holds them, so that their place in memory stays theirs."""

    def __init__(self, make: Callable[[K], V], most: int) -> None:
        self._make = make
        self._most = most
        self._made: dict[int, tuple[K, V]] = {}

    def of(self, key: K) -> V:
        made = self._made.get(id(key))
        return made[1] if made is not None else self._remember(key)

    def _remember(self, key: K) -> V:
        if len(self._made) >= self._most:
            self._made.clear()
        value = self._make(key)
        self._made[id(key)] = (key, value)
        return value

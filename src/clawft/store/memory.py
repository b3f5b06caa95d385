"""A store in this process: for tests and for programs that keep nothing."""

from __future__ import annotations

import time


class MemoryStore:
    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, float | None]] = {}

    async def get(self, key: str) -> str | None:
        value, expires = self._kept.get(key, (None, None))
        if expires is not None and expires <= time.time():
            del self._kept[key]
            return None
        return value

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        self._kept[key] = (value, None if ttl is None else time.time() + ttl)

    async def delete(self, key: str) -> bool:
        there = await self.get(key) is not None
        self._kept.pop(key, None)
        return there

    async def list_keys(self, prefix: str | None = None) -> list[str]:
        live = [key for key in list(self._kept) if await self.get(key) is not None]
        return sorted(key for key in live if key.startswith(prefix or ""))

    async def compare_and_set(self, key: str, old: str | None, new: str) -> bool:
        if await self.get(key) != old:
            return False
        await self.set(key, new)
        return True

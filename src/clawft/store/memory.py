"""The promises of a store, kept in this process only: for tests and for embedding."""

import time

from clawft.store.entry import MAX_KEYS, Clock, StoredValue, check_key, check_value, expiry, is_live, too_many


class MemoryStore:
    """A KeyValueStore. Nothing in it waits, so each operation is one step for all tasks of the loop."""

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self._kept: dict[str, StoredValue] = {}

    async def get(self, key: str) -> str | None:
        kept = self._live(check_key(key))
        return kept.value if kept else None

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        self._put(check_key(key), check_value(value), expiry(ttl, self._clock()))

    async def delete(self, key: str) -> bool:
        was_live = self._live(check_key(key)) is not None
        self._kept.pop(key, None)
        return was_live

    async def list_keys(self, prefix: str | None = None) -> list[str]:
        self._drop_expired()
        return sorted(key for key in self._kept if key.startswith(prefix or ""))

    async def compare_and_set(self, key: str, old: str | None, new: str) -> bool:
        kept = self._live(check_key(key))
        if (kept.value if kept else None) != old:
            return False
        self._put(key, check_value(new), kept.expires if kept else None)
        return True

    def _put(self, key: str, value: str, expires: float | None) -> None:
        if key not in self._kept and len(self._kept) >= MAX_KEYS:
            self._drop_expired()
            if len(self._kept) >= MAX_KEYS:
                raise too_many()
        self._kept[key] = StoredValue(value, expires)

    def _live(self, key: str) -> StoredValue | None:
        kept = self._kept.get(key)
        return kept if kept and is_live(kept.expires, self._clock()) else None

    def _drop_expired(self) -> None:
        now = self._clock()
        self._kept = {key: kept for key, kept in self._kept.items() if is_live(kept.expires, now)}

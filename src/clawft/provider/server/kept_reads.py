"""A cache of resources, as long as their server allows: public ones for all, private ones for their reader."""

from __future__ import annotations

import time
from collections import OrderedDict
from weakref import WeakSet

import msgspec
from msgspec import Raw, Struct

from clawft.link.share.memory_budget import MEMORY_BUDGET

MAX_KEPT = 256
MAX_KEPT_BYTES = 4 * 1024 * 1024
MAX_KEPT_SECONDS = 86_400.0
"""The longest time a result is kept, whatever a server says."""

PUBLIC = ""
"""Stands in place of a principal."""


class _Hints(Struct, rename="camel"):
    ttl_ms: float = 0.0
    cache_scope: str = "private"


_object = msgspec.json.Decoder(dict[str, Raw])


class _Kept(Struct):
    result: bytes
    until: float


class KeptReads:
    """Results of one server by URI and reader; the least recently used are dropped first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self.bytes = 0
        self.changes = 0
        """How many changes the server has reported: results requested before the last one may be outdated."""
        ALL_KEPT.servers.add(self)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, uri: str, principal: str) -> bytes | None:
        """The result with the time that is left, so that its reader keeps it no longer than we may."""
        now = time.monotonic()
        for reader in (PUBLIC, principal):
            found = self._kept.get((uri, reader))
            if found is not None and now < found.until:
                self._kept.move_to_end((uri, reader))
                left = int((found.until - now) * 1000)
                return msgspec.json.encode({**_object.decode(found.result), "ttlMs": left})
        return None

    def put(self, uri: str, principal: str, result: bytes) -> None:
        """Keep the result, if it allows that."""
        try:
            hints = msgspec.json.decode(result, type=_Hints)
        except msgspec.DecodeError:
            return
        if hints.ttl_ms <= 0 or len(result) > MAX_KEPT_BYTES:
            return
        self._drop((uri, reader := PUBLIC if hints.cache_scope == "public" else principal))
        until = time.monotonic() + min(hints.ttl_ms / 1000, MAX_KEPT_SECONDS)
        self._kept[uri, reader] = _Kept(result, until)
        self.bytes += len(result)
        while len(self._kept) > MAX_KEPT or self.bytes > MAX_KEPT_BYTES:
            self.evict_one()
        MEMORY_BUDGET.enforce()

    def evict_one(self) -> bool:
        """Drop the least recently used. False if there is none."""
        if self._kept:
            self._drop(next(iter(self._kept)))
            return True
        return False

    def forget(self, uri: str) -> None:
        """The resource, a part of it, or its container has changed."""
        self.changes += 1
        for key in [key for key in self._kept if key[0].startswith(uri) or uri.startswith(key[0])]:
            self._drop(key)

    def clear(self) -> None:
        self._kept.clear()
        self.bytes = 0

    def _drop(self, key: tuple[str, str]) -> None:
        gone = self._kept.pop(key, None)
        self.bytes -= len(gone.result) if gone is not None else 0


class _OfAll:
    """The caches of all servers as one for the memory budget."""

    def __init__(self) -> None:
        self.servers: WeakSet[KeptReads] = WeakSet()

    @property
    def bytes(self) -> int:
        return sum(map(_size, self.servers))

    def evict_one(self) -> bool:
        """Drop one result of the server that has most."""
        return max(self.servers, key=_size).evict_one() if self.servers else False


def _size(kept: KeptReads) -> int:
    return kept.bytes


ALL_KEPT = _OfAll()
MEMORY_BUDGET.add_cache(ALL_KEPT)

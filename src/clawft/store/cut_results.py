"""Whole texts of results that were cut, kept for a while so that the caller can read on. Bounded in items and bytes.

When there is no room, the oldest text of the caller who has most is dropped: nobody can push out those of all others.
"""

from __future__ import annotations

import os
from collections import Counter, OrderedDict
from threading import Lock

from msgspec import Struct

MAX_ITEMS = 64
MAX_BYTES = 16 * 1024 * 1024


class CutResultPart(Struct, frozen=True):
    """A piece of a kept text, in bytes of UTF-8 cut at a character boundary."""

    text: str
    offset: int
    next_offset: int | None
    total: int


class CutResults:
    """Whole texts by handle. Only the principal they were kept for can read them."""

    def __init__(self, max_items: int = MAX_ITEMS, max_bytes: int = MAX_BYTES) -> None:
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self.bytes = 0
        self._lock = Lock()
        """Large results are kept by whoever works on them, beside the loop."""

    @property
    def offered(self) -> bool:
        """Whether texts are kept at all."""
        return self._max_bytes > 0

    def make_room(self, size: int) -> bool:
        """Make room for a text of this size. False if it is larger than all we may hold."""
        if size > self._max_bytes:
            return False
        with self._lock:
            while len(self._kept) >= self._max_items or self.bytes + size > self._max_bytes:
                self._drop_one()
        return True

    def keep(self, text: bytes, principal: str) -> str:
        """A handle, or an empty string if there is no room for it."""
        if not self.make_room(len(text)):
            return ""
        handle = os.urandom(8).hex()
        with self._lock:
            self._kept[handle] = (principal, text)
            self.bytes += len(text)
        return handle

    def evict_one(self) -> bool:
        """Drop the longest, because its room is needed for something else. False if there is none."""
        with self._lock:
            if not self._kept:
                return False
            self._drop(max(self._kept, key=lambda handle: len(self._kept[handle][1])))
        return True

    def _drop_one(self) -> None:
        shares: Counter[str] = Counter()
        for principal, text in self._kept.values():
            shares[principal] += len(text) + self._max_bytes // self._max_items  # each is worth something in itself
        ((greedy, _),) = shares.most_common(1)
        self._drop(next(handle for handle, (principal, _) in self._kept.items() if principal == greedy))

    def _drop(self, handle: str) -> None:
        self.bytes -= len(self._kept.pop(handle)[1])

    def read(self, handle: str, principal: str, offset: int, limit: int) -> CutResultPart | None:
        """The piece at `offset`, at most `limit` bytes; None if the handle is unknown, expired or another's."""
        owner, text = self._kept.get(handle, (None, b""))
        if owner is None or owner != principal:
            return None
        start = max(0, offset)
        piece = cut(memoryview(text)[start:], limit)
        after = start + len(piece)
        return CutResultPart(str(piece, "utf-8", "replace"), start, after if after < len(text) else None, len(text))


def cut(text: bytes | memoryview, limit: int) -> bytes | memoryview:
    """At most `limit` bytes, never through the middle of a character."""
    if len(text) <= limit:
        return text
    while limit > 0 and text[limit] & 0xC0 == 0x80:
        limit -= 1
    return text[:limit]

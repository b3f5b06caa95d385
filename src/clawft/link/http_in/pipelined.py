"""Pipelined requests: bytes that a client has sent before the answer to its last request."""

from __future__ import annotations

from typing import Final, cast

MAX_PIPELINED_BYTES: Final = 8 * 1024 * 1024
"""Of all connections together."""


class PipelinedTotal:
    def __init__(self) -> None:
        self.size = 0

    @property
    def too_many(self) -> bool:
        return self.size > MAX_PIPELINED_BYTES


class PipelinedBytes:
    """The pipelined bytes of one connection, in their order."""

    __slots__ = ("_all", "_pieces", "size")

    def __init__(self, held: PipelinedTotal) -> None:
        self.size = 0
        self._all = held
        self._pieces: list[bytes | memoryview] = []

    def add(self, data: bytes | memoryview) -> None:
        piece = _without_the_rest(data)
        self._pieces.append(piece)
        self.size += len(piece)
        self._all.size += len(piece)

    def take(self) -> memoryview:
        """All of them; none are held after that."""
        held = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._all.size -= self.size
        self._pieces, self.size = [], 0
        return memoryview(held)


def _without_the_rest(data: bytes | memoryview) -> bytes | memoryview:
    """A copy if the view would keep a much larger buffer in memory."""
    if isinstance(data, memoryview) and 2 * len(data) < len(cast(bytes, data.obj)):
        return bytes(data)
    return data

"""Bytes of requests that came before their turn: of one connection, and counted for all of a server."""

from __future__ import annotations

from typing import Final, cast

MAX_HELD_BYTES: Final = 8 * 1024 * 1024
"""Of requests that all clients sent ahead of their answers."""


class HeldBytes:
    """Of all connections together."""

    def __init__(self) -> None:
        self.size = 0

    @property
    def too_many(self) -> bool:
        return self.size > MAX_HELD_BYTES


class Ahead:
    """What one connection sent ahead, in its order."""

    __slots__ = ("_all", "_pieces", "size")

    def __init__(self, held: HeldBytes) -> None:
        self.size = 0
        self._all = held
        self._pieces: list[bytes | memoryview] = []

    def hold(self, data: bytes | memoryview) -> None:
        piece = _without_the_rest(data)
        self._pieces.append(piece)
        self.size += len(piece)
        self._all.size += len(piece)

    def let_go(self) -> memoryview:
        """What was held, which it is no longer."""
        held = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._all.size -= self.size
        self._pieces, self.size = [], 0
        return memoryview(held)


def _without_the_rest(data: bytes | memoryview) -> bytes | memoryview:
    """A view keeps all of what it is a part of: copied once that is mostly something else."""
    if isinstance(data, memoryview) and 2 * len(data) < len(cast(bytes, data.obj)):
        return bytes(data)
    return data

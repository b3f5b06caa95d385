"""Room for what servers offer, of all of them together: each bound on one list still lets a crowd of servers add up.

A small share is everybody's own, however late it comes. Beyond it there is common room, of which nobody gets more than
half of what is left: the greedy leave something to those who come after them.
"""

from __future__ import annotations

COMMON_BYTES = 20 * 1024 * 1024
"""For all servers together, beyond the share of each. A server alone may have half of it."""
SHARE_BYTES = 256 * 1024
"""For each server, and for each person with lists of their own."""
MAX_SHARES_BYTES = 16 * 1024 * 1024
"""Of all shares together: where there are very many, each is smaller."""


class Room:
    def __init__(self, common: int = COMMON_BYTES, share: int = SHARE_BYTES) -> None:
        self.common = common
        self.taken = 0
        """Of the common room."""
        self.places = 0
        self._share = share

    @property
    def share(self) -> int:
        return min(self._share, MAX_SHARES_BYTES // max(self.places, 1))

    def place(self) -> Place:
        return Place(self)


class Place:
    """One server's part of it, by list."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._sizes: dict[str, int] = {}
        self._beyond = 0
        """What it has of the common room."""
        room.places += 1
        self._is_left = False

    def has_room(self, part: str, size: int) -> bool:
        """For this list, of this size, in place of the one before; if so, it is taken. What one has one may keep."""
        if size <= self._sizes.get(part, 0):
            return True
        others = sum(taken for name, taken in self._sizes.items() if name != part)
        beyond = others + size - self._room.share
        if beyond > self._beyond:
            free = self._room.common - self._room.taken + self._beyond
            if self._is_left or beyond > free // 2:
                return False
            self._take(beyond)
        return True

    def settle(self, part: str, size: int) -> None:
        """The list has this size now."""
        self._sizes[part] = size
        self._take(min(self._beyond, max(sum(self._sizes.values()) - self._room.share, 0)))

    def _take(self, beyond: int) -> None:
        self._room.taken += beyond - self._beyond
        self._beyond = beyond

    def leave(self) -> None:
        """Nothing is kept any longer; may be called twice."""
        if not self._is_left:
            self._is_left = True
            self._sizes.clear()
            self._take(0)
            self._room.places -= 1

"""Room for what servers offer, of all of them together: each bound on one list still lets a crowd of servers add up.

A small share is everybody's own, however late it comes. Beyond it there is common room, of which nobody gets more than
half of what is left: the greedy leave something to those who come after them.
"""

from __future__ import annotations

COMMON_BYTES = 16 * 1024 * 1024
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

    def free(self, mine: int) -> int:
        """Of the common room, for one who has so much of it."""
        return self.common - self.taken + mine

    def place(self) -> RoomPlace:
        return RoomPlace(self)


class RoomPlace:
    """One server's part of it, by list."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._sizes: dict[str, int] = {}
        self._reading: dict[str, int] = {}
        """Lists on their way in, as far as they have come."""
        self._beyond = 0
        """The part of the common room that it has."""
        self._is_left = False
        room.places += 1

    def has_room(self, part: str, size: int) -> bool:
        """For this list, of this size, in place of the one before; if so, it is taken. What one has one may keep."""
        if size > self._sizes.get(part, 0):
            beyond = self._others(part) + size - self._room.share
            if beyond > self._beyond and (self._is_left or beyond > self._room.free(self._beyond) // 2):
                return False
            self._take(max(beyond, self._beyond))
        self._reading[part] = size
        return True

    def _others(self, part: str) -> int:
        names = {*self._sizes, *self._reading} - {part}
        return sum(max(self._sizes.get(name, 0), self._reading.get(name, 0)) for name in names)

    def settle(self, part: str, size: int) -> None:
        """The list has this size now."""
        self._reading.pop(part, None)
        self._sizes[part] = size
        self._take(min(self._beyond, max(self._others("") - self._room.share, 0)))

    def _take(self, beyond: int) -> None:
        self._room.taken += beyond - self._beyond
        self._beyond = beyond

    def leave(self) -> None:
        """Nothing is kept any longer; may be called twice."""
        if not self._is_left:
            self._is_left = True
            self._sizes.clear()
            self._reading.clear()
            self._take(0)
            self._room.places -= 1

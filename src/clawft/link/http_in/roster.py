"""What all connections of one server share, and who of them is let in or gives way."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final

from clawft.link.http_in.exchange import Serve
from clawft.link.http_in.head import KnownHeads, Limits, Refusal
from clawft.link.http_in.porch import Porch
from clawft.link.http_in.sent_ahead import HeldBytes
from clawft.link.http_in.turns import LoopTurns

if TYPE_CHECKING:  # which knows its roster
    from clawft.link.http_in.protocol import Connection

GUESTS: Final = 16
"""One connection in so many is for those who come when all others are taken, with requests that take long."""
LEAVING: Final = 4
"""For so many connections, one more may be here that has given way and is not gone yet."""
FULL: Final = Refusal(503, "too many connections are open; try again later")
WAITS: Final = Refusal(503, "wait")
"""Never said: it may still come in."""
FULL_OF_YOU: Final = Refusal(429, "too many connections from your address are open; close some")


class Place(Enum):
    """Where a connection is, for all others: one at a time, and from LEAVING no way back."""

    NONE = "none"
    PORCH = "porch"
    OWN = "own"
    GUEST = "guest"
    """One of those kept free; a request that takes long loses it."""
    LEAVING = "leaving"
    """It has given way, and is not gone yet."""


class ConnectionRoster:
    """What all connections of one server share."""

    def __init__(self, serve: Serve, limits: Limits) -> None:
        self.serve = serve
        self.limits = limits
        self.known = KnownHeads()
        self.loop = asyncio.get_running_loop()
        self.connections: set[Connection] = set()
        self._of_one: Counter[str] = Counter()
        self._leaving = 0
        self.held = HeldBytes()
        self.turns = LoopTurns(self.loop)
        self.stopping = False
        self.empty = asyncio.Event()
        self._porch: Porch[Connection] = Porch(self.loop, limits, self._admit)

    def admit(self, connection: Connection) -> Refusal | None:
        """Count it in, let it wait, or say why not."""
        refusal = FULL if len(self._porch) else self._admit(connection)
        if refusal is not FULL or self.stopping:
            return refusal
        if not self._porch.takes(connection):
            return FULL
        connection.place = Place.PORCH
        return WAITS

    def _admit(self, connection: Connection) -> Refusal | None:
        home = connection.home
        if home and self._of_one[home] >= self.limits.connections_of_one:
            return FULL_OF_YOU
        if self.stopping or not self._has_place():
            return FULL
        most = self.limits.connections
        connection.place = Place.GUEST if len(self.connections) >= most - most // GUESTS else Place.OWN
        self.connections.add(connection)
        if home:
            self._of_one[home] += 1
        return None

    def _has_place(self) -> bool:
        """Is one free, or can it be made? Those that gave way count until they are gone, beyond a few."""
        here, most = len(self.connections), self.limits.connections
        if here >= most + max(1, most // LEAVING):
            return False
        return here - self._leaving < most or self._make_room()

    def _make_room(self) -> bool:
        """The connection that has been without a whole request for longest gives way; else one that only listens; else
        the guest whose request takes longest: calls that never end must not shut out those that are done at once.
        """
        once, guest = self.limits.give_way_seconds, self.limits.guest_seconds
        return (
            self._send_off(lambda connection: connection.wanting(), once)
            or self._send_off(lambda connection: connection.listening(), once)
            or self._send_off(lambda connection: connection.overstaying(), guest)
        )

    def _send_off(self, seconds_of: Callable[[Connection], float], least: float) -> bool:
        """Whoever has most of these seconds, if those are enough."""
        last = max(self.connections, key=seconds_of, default=None)
        if last is None or seconds_of(last) < least:
            return False
        self._leaving += 1
        last.give_way()
        return True

    def stop(self) -> None:
        """Nobody new comes in; those who are here finish."""
        self.stopping = True
        self._porch.close(FULL)
        for connection in tuple(self.connections):
            connection.retire()

    def forget(self, connection: Connection) -> None:
        if connection.place is Place.PORCH:
            self._porch.leave(connection)
        if connection in self.connections:
            self.connections.remove(connection)
            self._leaving -= connection.place is Place.LEAVING
            self._leave_home(connection.home)
        if not self.connections:
            self.empty.set()

    def _leave_home(self, home: str) -> None:
        if home:
            self._of_one[home] -= 1
            if not self._of_one[home]:
                del self._of_one[home]

"""All connections of one server: what they share, how many there may be, and which waits for a place."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final

from clawft.link.http_in.eviction import Place, to_close
from clawft.link.http_in.exchange import Serve
from clawft.link.http_in.head import KnownHeads, Limits, Refusal
from clawft.link.http_in.pipelined import PipelinedTotal
from clawft.link.http_in.turns import LoopTurns
from clawft.link.http_in.waiting_connections import WaitingConnections

if TYPE_CHECKING:  # which knows its roster
    from clawft.link.http_in.protocol import Connection

GUESTS: Final = 16
"""One place in so many is kept for guests, who come when all others are taken by requests that take long."""
LEAVING: Final = 4
"""For so many connections one more may be here that is being closed and not gone yet."""
FULL: Final = Refusal(503, "too many connections are open; try again later")
FULL_OF_YOU: Final = Refusal(429, "too many connections from your address are open; close some")


class ConnectionRoster:
    """The state that all connections of one server share."""

    def __init__(self, serve: Serve, limits: Limits) -> None:
        self.serve = serve
        self.limits = limits
        self.known = KnownHeads()
        self.loop = asyncio.get_running_loop()
        self.connections: set[Connection] = set()
        self._of_one: Counter[str] = Counter()
        self._leaving = 0
        self.pipelined = PipelinedTotal()
        self.turns = LoopTurns(self.loop)
        self.stopping = False
        self.empty = asyncio.Event()
        self._waiting: WaitingConnections[Connection] = WaitingConnections(self.loop, limits, self._admit)

    def admit(self, connection: Connection) -> Refusal | None:
        """Give it a place, or let it wait for one (see its `place`); the refusal if neither is possible."""
        refusal = FULL if len(self._waiting) else self._admit(connection)
        if refusal is not FULL or self.stopping:
            return refusal
        if not self._waiting.try_add(connection):
            return FULL
        connection.place = Place.WAITING
        return None

    def _admit(self, connection: Connection) -> Refusal | None:
        network = connection.network
        if network and self._of_one[network] >= self.limits.connections_of_one:
            return FULL_OF_YOU
        if self.stopping or not self._has_place():
            return FULL
        most = self.limits.connections
        connection.place = Place.GUEST if len(self.connections) >= most - most // GUESTS else Place.OWN
        self.connections.add(connection)
        if network:
            self._of_one[network] += 1
        return None

    def _has_place(self) -> bool:
        """Whether a place is free, or can be made by closing a connection."""
        here, most = len(self.connections), self.limits.connections
        if here >= most + max(1, most // LEAVING):
            return False
        return here - self._leaving < most or self._make_room()

    def _make_room(self) -> bool:
        chosen = to_close(self.connections, self.loop.time(), self.limits)
        if chosen is None:
            return False
        self._leaving += 1
        chosen.give_way()
        return True

    def stop(self) -> None:
        """Admit no more; those that are here finish."""
        self.stopping = True
        self._waiting.close(FULL)
        for connection in tuple(self.connections):
            connection.finish_and_close()

    def forget(self, connection: Connection) -> None:
        if connection.place is Place.WAITING:
            self._waiting.remove(connection)
        if connection in self.connections:
            self.connections.remove(connection)
            self._leaving -= connection.place is Place.LEAVING
            self._leave_network(connection.network)
        if not self.connections:
            self.empty.set()

    def _leave_network(self, network: str) -> None:
        if network:
            self._of_one[network] -= 1
            if not self._of_one[network]:
                del self._of_one[network]

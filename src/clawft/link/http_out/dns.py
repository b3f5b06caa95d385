"""DNS look-ups in threads, with a bound for each zone, so that a slow zone does not hold up the others.

The resolver of the system cannot be interrupted, and whoever owns a zone decides how long its names take. So each
look-up has a daemon thread of its own, and a zone has few of them at a time.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from functools import partial

from clawft.link.own_thread import run_in_own_thread

MAX_LOOKUPS = 64
MAX_OF_ZONE = 4
"""Look-ups at a time; more of the same zone wait."""
ZONE_LABELS = 2
"""Names with the same last labels, so many, are of one zone."""

Place = tuple[socket.AddressFamily, str]
"""An address and its family."""


class Lookups:
    def __init__(self) -> None:
        self._running: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def find(self, host: str, port: int | None) -> list[Place]:
        """All addresses, the best first. Raises OSError as the system does, or if too many are being looked up."""
        zone = zone_of(host)
        await self._enter(zone, asyncio.get_running_loop())
        work = partial(system_addresses, host, port)
        return await run_in_own_thread(work, f"look-up of {host[:50]}", ended=partial(self._leave, zone))

    async def _enter(self, zone: str, loop: asyncio.AbstractEventLoop) -> None:
        if self._running.get(zone, 0) < MAX_OF_ZONE:
            if sum(self._running.values()) >= MAX_LOOKUPS:
                raise socket.gaierror(socket.EAI_AGAIN, f"{MAX_LOOKUPS} names are being looked up already")
            self._running[zone] = self._running.get(zone, 0) + 1
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(zone, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave(zone)  # it was our turn while we were leaving
            raise

    def _leave(self, zone: str) -> None:
        """Hand the place to the next of the same zone who still waits, or give it back."""
        waiting = self._waiting.get(zone, deque())
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._waiting.pop(zone, None)
        self._running[zone] -= 1
        if not self._running[zone]:
            del self._running[zone]


def zone_of(host: str) -> str:
    return ".".join(host.lower().rstrip(".").split(".")[-ZONE_LABELS:])


def system_addresses(host: str, port: int | None) -> list[Place]:
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # an empty label, or one that is too long: nobody is asked
        raise socket.gaierror(socket.EAI_NONAME, "no name of a host") from None
    return list(dict.fromkeys((info[0], _written(info[4])) for info in infos))


def _written(place: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]) -> str:
    """The address as text, with its scope where it has one."""
    scope = place[3] if len(place) > 3 else 0
    return f"{place[0]}%{scope}" if scope and "%" not in str(place[0]) else str(place[0])


LOOKUPS = Lookups()


class Resolver:
    """Finds the addresses of a name for aiohttp, by `LOOKUPS`."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[dict[str, object]]:
        found = await LOOKUPS.find(host, port)
        shape = {"hostname": host, "port": port, "proto": 0, "flags": socket.AI_NUMERICHOST}
        return [{**shape, "host": address, "family": kind} for kind, address in found if family in (0, kind)]

    async def close(self) -> None:
        pass

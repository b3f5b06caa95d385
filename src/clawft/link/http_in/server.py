"""A fast HTTP/1.1 server for one application, made to stand on an untrusted port.

Parsing is llhttp's (strict), time and space are bounded by `Limits`, and requests of one connection are answered one
after the other. No TLS, no HTTP/2, no WebSocket, no lifespan: the program that starts the server owns the application.
"""

import asyncio
import logging
import socket
from typing import Final

from clawft.link.http_in.asgi import App, Receive, Scope, Send, of_asgi
from clawft.link.http_in.exchange import Address, Message, Serve
from clawft.link.http_in.head import Limits
from clawft.link.http_in.protocol import Connection
from clawft.link.http_in.roster import ConnectionRoster
from clawft.link.http_in.socket_ends import address_of

__all__ = ["App", "HttpServer", "Limits", "Message", "Receive", "Scope", "Send", "of_asgi"]

NOWHERE: Final = ("", 0)
"""The address of a Unix socket, which has no host and port."""
BACKLOG: Final = 512
SWEEP_SECONDS: Final = 1.0
SWEEPS_PER_TIMEOUT: Final = 4
KILL_SECONDS: Final = 3.0
"""How long applications may take to let go once they were cancelled."""

log = logging.getLogger("clawft.http")


class HttpServer:
    """Serves from `start` to `stop`; a stopped server can be started again."""

    def __init__(self, serve: Serve, *, limits: Limits = Limits()) -> None:  # noqa: B008 - frozen, safe to share
        self._serve = serve
        self._limits = limits
        self._listener: asyncio.Server | None = None
        self._roster: ConnectionRoster | None = None
        self._sweeper: asyncio.TimerHandle | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0, *, sock: socket.socket | None = None) -> Address:
        """Listen; returns the address once clients can connect. `sock`, a bound socket, takes the place of both."""
        if self._listener is not None:
            raise RuntimeError("the server is already started")
        roster = ConnectionRoster(self._serve, self._limits)
        self._listener = await _listen(roster, host, port, sock)
        self._roster = roster
        self._sweep(roster)
        return address_of(self._listener.sockets[0].getsockname()) or NOWHERE

    @property
    def connections(self) -> int:
        """Connections open now, and those whose application still runs."""
        return len(self._roster.connections) if self._roster is not None else 0

    async def stop(self, grace: float) -> None:
        """Accept no more, let running requests end within `grace` seconds, then cut off what is left."""
        listener, roster = self._listener, self._roster
        if listener is None or roster is None:
            return
        self._listener = None
        listener.close()
        roster.stop()
        if not await _emptied(roster, grace):
            await _kill(roster)
        if self._sweeper is not None:
            self._sweeper.cancel()
        await listener.wait_closed()

    def _sweep(self, roster: ConnectionRoster) -> None:
        """One timer for all connections instead of one for each request."""
        now = roster.loop.time()
        for connection in tuple(roster.connections):
            connection.check(now)
        self._sweeper = roster.loop.call_later(_sweep_seconds(self._limits), self._sweep, roster)


async def _listen(roster: ConnectionRoster, host: str, port: int, sock: socket.socket | None) -> asyncio.Server:
    if sock is not None:
        return await roster.loop.create_server(lambda: Connection(roster), sock=sock, backlog=BACKLOG)
    try:
        return await roster.loop.create_server(lambda: Connection(roster), host, port, backlog=BACKLOG)
    except UnicodeError:  # 127.0..1: before anybody was asked for it
        raise socket.gaierror(socket.EAI_NONAME, "this is no name of a host") from None


def _sweep_seconds(limits: Limits) -> float:
    shortest = min(
        limits.head_seconds,
        limits.body_idle_seconds,
        limits.body_seconds,
        limits.keep_alive_seconds,
        limits.write_seconds,
        limits.linger_seconds,
    )
    return min(SWEEP_SECONDS, shortest / SWEEPS_PER_TIMEOUT)


async def _emptied(roster: ConnectionRoster, seconds: float) -> bool:
    """Whether every connection ended and every application returned in time."""
    if roster.connections:
        roster.empty.clear()
        try:
            async with asyncio.timeout(seconds):
                await roster.empty.wait()
        except TimeoutError:
            return False
    return True


async def _kill(roster: ConnectionRoster) -> None:
    log.info("%d connections are cut off", len(roster.connections))
    for connection in tuple(roster.connections):
        connection.kill()
    if not await _emptied(roster, KILL_SECONDS):
        log.error("%d applications ignore that they were cancelled", len(roster.connections))

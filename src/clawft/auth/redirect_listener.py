"""Where the browser is redirected to after a login (RFC 8252): one HTTP listener on loopback for this process."""

from __future__ import annotations

import asyncio

from clawft.auth.flow import AuthorizationResponse, read_returned
from clawft.auth.login_slots import LoginSlot, LoginSlots, evicted
from clawft.errors import LoginFailed

HOST = "127.0.0.1"
PATH = "/callback"
MAX_HEAD = 16_384
READ_SECONDS = 10.0
MAX_WAITING = 256
MAX_CONNECTIONS = 64
"""Any program of this machine can connect: beyond these the oldest that has sent no request is closed."""

_PAGE = (
    b"HTTP/1.1 %b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n"
    b"Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n"
    b"Connection: close\r\n\r\n%b"
)
_DONE = b"<!doctype html><title>weft</title><p>Thank you. weft finishes the login; you can close this page."
_FAILED = b"<!doctype html><title>weft</title><p>The login was not granted. You can close this page."
_UNKNOWN = b"<!doctype html><title>weft</title><p>Nobody is waiting for this login. Begin it again."


class RedirectListener:
    """`expect` a state, send the person to the browser, wait for the future."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._waiting: dict[str, asyncio.Future[AuthorizationResponse]] = {}
        self._slots = LoginSlots(_full)
        self._opening = asyncio.Lock()
        self._silent: dict[asyncio.StreamWriter, None] = {}
        """Connections that have sent no request yet, the oldest first."""
        self._promised = 0
        """How many redirect addresses were given out for which no state is expected yet."""

    async def open(self) -> str:
        """The redirect address; the listener is there when this returns."""
        self._promised += 1
        async with self._opening:
            if self._server is None:
                self._server = await asyncio.start_server(self._serve, HOST, 0, limit=MAX_HEAD)
        return f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}{PATH}"

    def expect(self, state: str, whose: str = "") -> asyncio.Future[AuthorizationResponse]:
        """`whose`: the person who is to come back, where there are several."""
        slot = self._slots.take(whose, MAX_WAITING)
        self._promised = max(0, self._promised - 1)
        future: asyncio.Future[AuthorizationResponse] = asyncio.get_running_loop().create_future()
        self._waiting[state] = future
        future.add_done_callback(lambda _: self._leave(state, slot))
        slot.give_up = lambda: future.done() or future.set_exception(evicted())
        return future

    def take_back(self) -> None:
        """The login for which `open` gave the address will not begin after all."""
        self._promised = max(0, self._promised - 1)
        self._close_if_idle()

    def _leave(self, state: str, slot: LoginSlot) -> None:
        slot.leave()
        self._waiting.pop(state, None)
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        """Close the listener with the last login that waits."""
        if not self._waiting and not self._promised and self._server is not None:
            self._server.close()
            self._server = None

    async def close(self) -> None:
        for future in tuple(self._waiting.values()):
            future.cancel()
        server, self._server = self._server, None
        if server is not None:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._make_room(writer)
        try:
            async with asyncio.timeout(READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a scanner, or a browser that changed its mind
        except asyncio.CancelledError:
            pass  # the loop ends; Python 3.11 would complain loudly about a connection that is cancelled
        finally:
            self._silent.pop(writer, None)
            writer.close()

    def _make_room(self, writer: asyncio.StreamWriter) -> None:
        self._silent[writer] = None
        if len(self._silent) > MAX_CONNECTIONS:
            oldest = next(iter(self._silent))
            del self._silent[oldest]
            oldest.transport.abort()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        path, _, query = rest.partition(" ")[0].partition("?")
        if method != "GET" or path != PATH or not _for_us(head):
            return _page(b"404 Not Found", _UNKNOWN)
        returned = read_returned(query)
        future = self._waiting.get(returned.state)
        if future is None or future.done():
            return _page(b"400 Bad Request", _UNKNOWN)
        future.set_result(returned)
        return _page(b"200 OK", _DONE if returned.code else _FAILED)


def _full() -> LoginFailed:
    return LoginFailed(f"{MAX_WAITING} logins are waiting already", hint="finish some of them")


def _for_us(head: bytes) -> bool:
    """Whether the Host header names loopback. A page of another site may reach us by DNS rebinding."""
    hosts = [line.partition(b":")[2].strip() for line in head.split(b"\r\n") if line.lower().startswith(b"host:")]
    return len(hosts) == 1 and hosts[0].rpartition(b":")[0] in (HOST.encode(), b"localhost")


def _page(status: bytes, body: bytes) -> bytes:
    return _PAGE % (status, len(body), body)

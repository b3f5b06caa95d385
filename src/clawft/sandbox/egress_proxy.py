"""The only way out of a cell without a network: an HTTP proxy that connects to the listed hosts and no others.

The kernel knows addresses and ports, not names, so only a proxy, which is told the name, can enforce a list of names.
Programs find it by the usual variables; those that ignore them have no network at all.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from clawft.policy.address import is_near

PORT = 3128
"""On the cell's own loopback, where nothing else listens."""
MAX_CONNECTIONS = 64
MAX_HEAD_BYTES = 16 * 1024
HEAD_SECONDS = 10.0
CONNECT_SECONDS = 10.0
PIECE_BYTES = 64 * 1024
LOCAL = ("localhost", "127.0.0.1", "::1")
"""In a cell these mean the cell itself, unless they are listed: then they mean this machine."""

Tell = Callable[[str], None]
"""Called with each refusal."""


def variables(hosts: Sequence[str]) -> dict[str, str]:
    """The variables by which programs find the proxy."""
    url = f"http://127.0.0.1:{PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    listed = {host for host, _ in map(_split, hosts)}
    inside = ",".join(name for name in LOCAL if name not in listed)
    return {**dict.fromkeys(names, url), "NO_PROXY": inside, "no_proxy": inside, "NODE_USE_ENV_PROXY": "1"}


# ── where to; pure ───────────────────────────────────────────────────────────────────────────────────────────────────


_OURS_TO_SAY = (b"host", b"connection", b"proxy-connection")
_LINE = re.compile(rb"[^\r\n\0]*")
_VERSIONS = (b"HTTP/1.0", b"HTTP/1.1")
_HOST = re.compile(r"[a-z0-9_.:%-]{1,255}", re.IGNORECASE)


class ProxyRequest(Struct, frozen=True):
    """Where a client wants to go, and the head of the request to send there."""

    host: str
    port: int
    tunnel: bool
    first: bytes = b""


def read_wish(head: bytes) -> ProxyRequest | None:
    """The request in a head; None if it is no request to a proxy, or could be read in more than one way."""
    first, *headers = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    words = first.split(b" ")
    if len(words) != 3 or words[2] not in _VERSIONS or not words[0].isalpha() or not all(map(_is_clear, headers)):
        return None
    method, target, version = words
    try:
        parts = urlsplit(f"//{target.decode('ascii')}" if method == b"CONNECT" else target.decode("ascii"))
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or not _HOST.fullmatch(host) or (port is None and method == b"CONNECT"):
        return None
    if method == b"CONNECT":
        return ProxyRequest(host, port or 443, tunnel=True)
    if parts.scheme != "http":
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    told = b"Host: " + parts.netloc.rpartition("@")[2].encode()
    lines = (b" ".join((method, path.encode(), version)), told, b"Connection: close", *_others(headers), b"", b"")
    return ProxyRequest(host, port or 80, tunnel=False, first=b"\r\n".join(lines))


def _is_clear(header: bytes) -> bool:
    """Whether all parsers see one header: to some a bare line feed ends it, and an indented line continues it."""
    return _LINE.fullmatch(header) is not None and not header.startswith((b" ", b"\t"))


def _others(headers: Sequence[bytes]) -> Iterator[bytes]:
    """The headers without those we write: `Host` could name a host that is not listed, and we close the connection."""
    return (each for each in headers if each.partition(b":")[0].strip().lower() not in _OURS_TO_SAY)


def is_allowed(wish: ProxyRequest, hosts: Sequence[str]) -> bool:
    """Whether the host is listed: as `api.example.com`, `*.example.com`, or either with a port."""
    name = wish.host.lower().rstrip(".")
    return any(fnmatchcase(name, host) and port in ("", str(wish.port)) for host, port in map(_split, hosts))


def may_lead_to(address: str, host: str, hosts: Sequence[str]) -> bool:
    """Whether an allowed host may resolve to this address.

    This machine and its link are reached only if the address itself, or `localhost`, is listed; `*:443` is not enough.
    Other names that lead there do so for somebody else's sake.
    """
    if (host.lower() == LOCAL[0] or _is_address(host)) and host.lower() in {listed for listed, _ in map(_split, hosts)}:
        return True
    return not is_near(address)


def _is_address(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _split(entry: str) -> tuple[str, str]:
    """Host and port; an IPv6 address with a port stands in brackets."""
    entry = entry.lower()
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        return host, rest.removeprefix(":")
    host, _, port = entry.partition(":")
    return (entry, "") if ":" in port else (host, port)


# ── the way ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class EgressProxy:
    """Waits for the listening socket that the cell hands out, then serves it until it is closed."""

    def __init__(self, handed: socket.socket, hosts: Sequence[str], tell: Tell) -> None:
        self._handed = handed
        self._hosts = hosts
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._server: asyncio.Server | None = None
        self._listening: asyncio.Task[None] | None = None
        self._open: set[asyncio.Task[None]] = set()
        handed.setblocking(False)
        self._loop.add_reader(handed.fileno(), self._receive)

    def close(self) -> None:
        self._let_go()
        if self._server is not None:
            self._server.close()
        for task in (self._listening, *self._open):
            if task is not None:
                task.cancel()

    def _receive(self) -> None:
        try:
            _, descriptors, _, _ = socket.recv_fds(self._handed, 16, 1)
        except OSError:
            descriptors = []
        self._let_go()
        if descriptors:
            self._listening = self._loop.create_task(self._listen(socket.socket(fileno=descriptors[0])))

    def _let_go(self) -> None:
        if self._handed.fileno() >= 0:
            self._loop.remove_reader(self._handed.fileno())
            self._handed.close()

    async def _listen(self, door: socket.socket) -> None:
        self._server = await asyncio.start_server(self._enter, sock=door, limit=MAX_HEAD_BYTES)

    async def _enter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._open) >= MAX_CONNECTIONS:
            writer.close()
            return
        self._open.add(task)
        try:
            await self._pass(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # either side may leave at any moment
        except asyncio.CancelledError:
            pass  # closed by us; nobody waits for this task, and some loops report its end as an error
        finally:
            self._open.discard(task)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        wish = read_wish(head)
        if wish is None:
            writer.write(_answer("400 Bad Request", "this is the HTTP proxy of a sandbox"))
        elif not is_allowed(wish, self._hosts):
            refused = f"{wish.host}:{wish.port} is not in the sandbox's network list"
            self._tell(refused)
            writer.write(_answer("403 Forbidden", refused))
        else:
            await self._connect(wish, reader, writer)

    async def _connect(self, wish: ProxyRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                far, out = await self._reach(wish)
        except (OSError, TimeoutError, UnicodeError) as failed:  # the last: a name that cannot be one
            writer.write(_answer("502 Bad Gateway", f"{wish.host}:{wish.port} cannot be reached: {failed}"))
            return
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n" if wish.tunnel else b"")
            out.write(wish.first)
            await _both_ways((reader, out), (far, writer))
        finally:
            out.close()

    async def _reach(self, wish: ProxyRequest) -> Way:
        """Connect to the very address that was checked, so that it cannot change in between."""
        found = await self._loop.getaddrinfo(wish.host, wish.port, type=socket.SOCK_STREAM)
        addresses = [address for *_, place in found if may_lead_to(address := str(place[0]), wish.host, self._hosts)]
        if not addresses:
            refused = f"{wish.host} leads to this machine, which is not in the sandbox's network list"
            self._tell(refused)
            raise OSError(refused)
        for address in addresses[:-1]:
            try:
                return await asyncio.open_connection(address, wish.port)
            except OSError:
                continue
        return await asyncio.open_connection(addresses[-1], wish.port)


Way = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _both_ways(*ways: Way) -> None:
    """Copy in both directions until both sides are done; if one fails, the other ends too."""
    async with asyncio.TaskGroup() as group:
        for reader, writer in ways:
            group.create_task(_pump(reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except (OSError, RuntimeError):  # the latter by uvloop, of one that was closed in the meantime
        writer.close()


def _answer(status: str, said: str) -> bytes:
    body = f"weft: {said}\n".encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body

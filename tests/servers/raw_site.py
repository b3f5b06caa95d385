"""An MCP server over HTTP that is written by hand, so that its answer to a call can be any bytes at all."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Any

from tests.servers.pipe import Json

TOOL: Json = {"name": "poke", "inputSchema": {"type": "object"}}


class Asked:
    """One request; `write` and `pour` answer it, with whatever."""

    def __init__(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.head = head
        self.method = head.split(b" ", 1)[0].decode()
        self.message: Json = json.loads(body) if body else {}
        self._writer = writer

    @property
    def id(self) -> Any:
        return self.message.get("id")

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()

    def hang_up(self) -> None:
        """At once: whoever is at the other end may find it before their loop does."""
        self._writer.get_extra_info("socket").shutdown(socket.SHUT_WR)

    async def pour(self, *pieces: bytes, pause: float = 0.0) -> None:
        """Piece after piece, for as long as anybody reads."""
        while not self._writer.is_closing():
            for piece in pieces:
                await self.write(piece)
            await asyncio.sleep(pause)

    async def answer(self, result: Json, *headers: str) -> None:
        await self.write(answered(self.id, result, *headers))


Vice = Callable[[Asked], Awaitable[None]]


def message(id: Any, text: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}).encode()


def answered(id: Any, result: Json, *headers: str) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
    return framed(body, *headers)


def framed(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class RawSite:
    """Well-behaved, but for calls (`vice`), and the stream of unasked messages (`aside`), if there is one.

    What has more than `longest` bytes is not read.
    """

    def __init__(
        self, vice: Vice, aside: Vice | None = None, hello: tuple[str, ...] = (), longest: int = sys.maxsize
    ) -> None:
        self._vice = vice
        self._aside = aside
        self._hello = hello
        self._longest = longest
        self.connections = 0
        self.asked: list[str] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await take_each(reader, writer, self._take, self._longest)

    async def _take(self, asked: Asked) -> None:
        self.asked.append(asked.message.get("method") or asked.method)
        match self.asked[-1]:
            case "initialize":
                info = {"name": "raw", "version": "1"}
                hello: Json = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
                await asked.answer(hello, *self._hello)
            case "tools/list":
                await asked.answer({"tools": [TOOL]})
            case "tools/call":
                await self._vice(asked)
            case "GET" if self._aside is not None:
                await self._aside(asked)
            case "GET" | "DELETE":
                await asked.write(framed(b"", status="405 No"))
            case "ping":
                await asked.answer({})
            case "server/discover":
                error = {"code": -32601, "message": "unknown"}
                await asked.write(framed(json.dumps({"jsonrpc": "2.0", "id": asked.id, "error": error}).encode()))
            case _:
                await asked.write(framed(b"", status="202 Accepted"))


async def read_asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, longest: int = sys.maxsize) -> Asked:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if length > longest:
        await asyncio.Event().wait()
    return Asked(head, await reader.readexactly(length), writer)


async def take_each(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, take: Vice, longest: int = sys.maxsize
) -> None:
    """Request after request, for as long as the connection lasts."""
    try:
        while True:
            await take(await read_asked(reader, writer, longest))
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


@asynccontextmanager
async def raw_site(
    vice: Vice, aside: Vice | None = None, hello: tuple[str, ...] = (), tls: SSLContext | None = None
) -> AsyncGenerator[RawSite]:
    site = RawSite(vice, aside, hello)
    async with listening(site.serve, tls) as origin:
        site.url = f"{origin}/mcp"
        yield site


@asynccontextmanager
async def deaf_site(longest: int) -> AsyncGenerator[RawSite]:
    """One that does not read what is longer, and has hardly any room for it."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.bind(("127.0.0.1", 0))
        site = RawSite(lambda asked: asked.answer({}), longest=longest)
        async with listening(site.serve, sock=sock) as origin:
            site.url = f"{origin}/mcp"
            yield site


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@asynccontextmanager
async def listening(
    serve: Serve, tls: SSLContext | None = None, sock: socket.socket | None = None
) -> AsyncGenerator[str]:
    """The origin where each connection is served by a task of its own; all of them end with it.

    `sock` is bound already, if it is given.
    """
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    if sock is None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    else:
        server = await asyncio.start_server(connected, sock=sock, ssl=tls)
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

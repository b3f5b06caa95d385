"""HTTP by hand: requests as the bytes we like, answers read with nothing but the length or the chunks."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from tests.servers.pipe import NEWEST, STATELESS, Json, modern_meta

PATIENCE_S = 20.0
LOOPBACK = "127.0.0.1"
LONGEST = 16 * 1024 * 1024

Headers = Mapping[str, str]


class Answer(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Json:
        return json.loads(self.body)

    def messages(self) -> list[Json]:
        """Those of an event stream, or the one of a JSON body."""
        if not self.headers.get("content-type", "").startswith("text/event-stream"):
            return [self.json()]
        lines = self.body.replace(b"\r\n", b"\n").split(b"\n")
        return [json.loads(line[5:]) for line in lines if line.startswith(b"data:") and line[5:].strip()]

    @property
    def code(self) -> int | None:
        return self.messages()[-1].get("error", {}).get("code")


def head(port: int, method: str, headers: Headers, path: str = "/mcp") -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        *(f"{k}: {v}" for k, v in {"Host": f"{LOOPBACK}:{port}", **headers}.items() if v),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def post(port: int, body: bytes, headers: Headers | None = None, *, path: str = "/mcp") -> bytes:
    """A POST as a well-behaved client sends it; `headers` replaces some, an empty value leaves one out."""
    usual = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Content-Length": str(len(body)),
    }
    return head(port, "POST", {**usual, **(headers or {})}, path) + body


def message(id: int | str, method: str, params: Json | None = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}).encode()


def modern(
    port: int, id: int | str, method: str, params: Json | None = None, headers: Headers | None = None, **meta: Any
) -> bytes:
    """A whole request of the stateless era."""
    told = {**(params or {}), "_meta": modern_meta(**meta)}
    routing = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
    name = told.get("name") or told.get("uri")
    if name:
        routing["Mcp-Name"] = str(name)
    return post(port, message(id, method, told), {**routing, **(headers or {})})


def modern_call(
    port: int, id: int | str, tool: str, arguments: Json, headers: Headers | None = None, **meta: Any
) -> bytes:
    return modern(port, id, "tools/call", {"name": tool, "arguments": arguments}, headers, **meta)


class Line:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE_S):
            self.writer.write(data)
            await self.writer.drain()

    async def answer(self) -> Answer:
        """The next whole answer. Raises EOFError if the other side closes instead."""
        async with asyncio.timeout(PATIENCE_S):
            status, headers = await self.answer_head()
            return Answer(status, headers, await self._body(status, headers))

    async def answer_head(self) -> tuple[int, dict[str, str]]:
        raw = await self.reader.readuntil(b"\r\n\r\n")
        first, *rest = raw.decode("latin-1").splitlines()
        pairs = (line.partition(":") for line in rest if line)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    async def _body(self, status: int, headers: dict[str, str]) -> bytes:
        if status == 204:
            return b""
        if headers.get("transfer-encoding") == "chunked":
            return b"".join([chunk async for chunk in self.chunks()])
        return await self.reader.readexactly(int(headers["content-length"]))

    async def chunks(self) -> AsyncGenerator[bytes]:
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)

    async def ask(self, data: bytes) -> Answer:
        await self.send(data)
        return await self.answer()

    async def is_closed(self) -> bool:
        """Whether the other side ends the connection, without a further byte."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self.reader.read(1) == b""
        except ConnectionResetError:
            return True

    def leave(self) -> None:
        """Without a word, as a client that crashed."""
        self.writer.transport.abort()


@asynccontextmanager
async def connect(port: int, *, longest: int = LONGEST) -> AsyncGenerator[Line]:
    """`longest`: half of what we take in before someone asks for it."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=longest)
    try:
        yield Line(reader, writer)
    finally:
        writer.close()
        try:
            await writer.wait_closed()
        except OSError:  # the other side was faster
            pass


async def ask(port: int, data: bytes) -> Answer:
    """One request on a connection of its own."""
    async with connect(port) as line:
        return await line.ask(data)


class Session:
    """A handshake-era session: its id and the headers that go with it."""

    def __init__(self, port: int, id: str, revision: str, headers: Headers) -> None:
        self.port, self.id = port, id
        self.headers = {**headers, "Mcp-Session-Id": id, "MCP-Protocol-Version": revision}

    def post(self, body: bytes, headers: Headers | None = None) -> bytes:
        return post(self.port, body, {**self.headers, **(headers or {})})

    def call(self, id: int | str, tool: str, arguments: Json, **params: Any) -> bytes:
        return self.post(message(id, "tools/call", {"name": tool, "arguments": arguments, **params}))

    def get(self, headers: Headers | None = None) -> bytes:
        return head(self.port, "GET", {"Accept": "text/event-stream", **self.headers, **(headers or {})})

    def delete(self) -> bytes:
        return head(self.port, "DELETE", self.headers)


def hello(port: int, revision: str = NEWEST, headers: Headers | None = None, **capabilities: Any) -> bytes:
    told = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": "raw", "version": "1"}}
    return post(port, message(0, "initialize", told), headers)


async def open_session(
    port: int, revision: str = NEWEST, headers: Headers | None = None, **capabilities: Any
) -> Session:
    async with connect(port) as line:
        answer = await line.ask(hello(port, revision, headers, **capabilities))
        session = Session(port, answer.headers["mcp-session-id"], revision, headers or {})
        done = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
        accepted = await line.ask(session.post(done))
        if accepted.status != 202:
            raise RuntimeError(f"initialized was answered with {accepted.status}")
        return session

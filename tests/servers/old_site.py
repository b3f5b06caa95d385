"""A server of 2024 (HTTP+SSE) that is written by hand, so that its stream and its answers can be any bytes at all."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.servers.pipe import Json
from tests.servers.raw_site import STREAM, TOOL, Asked, chunk, framed, listening, take_each

GOOD_PLACE = b"/messages?session=1"
TAKEN = framed(b"", status="202 Accepted")


def event(data: bytes | Json, name: str = "message") -> bytes:
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    return b"event: %b\r\ndata: %b\r\n\r\n" % (name.encode(), text)


def result(id: Any, text: str) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}


class OldSite:
    """Well-behaved, but for what it says first (`place`) and what it does with calls (`vice`)."""

    def __init__(self, vice: "OldVice", place: bytes | None) -> None:
        self._vice = vice
        self._place = place
        self.stream: Asked | None = None
        self.url = ""

    async def say(self, data: bytes) -> None:
        """On the stream, whatever it is."""
        if self.stream is not None:
            await self.stream.write(data)

    async def tell(self, message: Json) -> None:
        await self.say(chunk(event(message)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await take_each(reader, writer, self._take)

    async def _take(self, asked: Asked) -> None:
        path = asked.head.split(b" ")[1]
        if asked.method == "GET":
            self.stream = asked
            await self.say(STREAM if self._place is None else STREAM + chunk(event(self._place, "endpoint")))
        elif path == b"/sse":
            await asked.write(framed(b"", status="405 No"))
        elif asked.message.get("method") == "tools/call":
            await self._vice(self, asked)
        else:
            await asked.write(TAKEN)
            await self._answer(asked)

    async def _answer(self, asked: Asked) -> None:
        info = {"name": "old", "version": "1"}
        results: Json = {
            "initialize": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info},
            "tools/list": {"tools": [TOOL]},
            "ping": {},
        }
        found = results.get(asked.message.get("method", ""))
        if found is not None:
            await self.tell({"jsonrpc": "2.0", "id": asked.id, "result": found})


OldVice = Callable[[OldSite, Asked], Awaitable[None]]


@asynccontextmanager
async def old_site(vice: OldVice, place: bytes | None = GOOD_PLACE) -> AsyncGenerator[OldSite]:
    site = OldSite(vice, place)
    async with listening(site.serve) as origin:
        site.url = f"{origin}/sse"
        yield site

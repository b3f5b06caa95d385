"""A proxy as companies have them, for tunnels: every one of them leads to the same place, whatever its name."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.servers.raw_site import listening


class ForwardProxy:
    """`login`: without it nobody gets through."""

    def __init__(self, port: int, login: str = "") -> None:
        self._port = port
        self._login = login
        self.asked: list[str] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.asked.append(head.partition("\r\n")[0])
            if self._login and f"Basic {base64.b64encode(self._login.encode()).decode()}" not in head:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            there, back = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_carry(reader, back), _carry(there, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    finally:
        target.close()


@asynccontextmanager
async def forward_proxy(port: int, login: str = "") -> AsyncGenerator[ForwardProxy]:
    proxy = ForwardProxy(port, login)
    async with listening(proxy.serve) as origin:
        proxy.url = origin
        yield proxy

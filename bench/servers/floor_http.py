"""The minimal echo server behind a port.

usage: floor_http.py PORT
"""

import asyncio
import sys
from typing import Any

import httptools
import uvloop
from floor import answer  # started as a program, so its own folder is on the path

HOST = "127.0.0.1"


class OneAtATime(asyncio.Protocol):
    """HTTP/1.1 as our load generator speaks it: one request at a time on a connection, any path, no refusals."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._transport: Any = None
        self._body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        told = answer(self._body)
        self._body = b""
        status = b"200 OK" if told else b"202 Accepted"
        head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(told))
        self._transport.write(head + told)


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(OneAtATime, HOST, port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))

"""Bytes from stdin to a child and back, unread: what a gateway on uvloop cannot get below.

usage: relay.py COMMAND [WORD …]
"""

import asyncio
import os
import subprocess
import sys
from typing import Any

import uvloop


class Pour(asyncio.Protocol):
    def __init__(self, into: asyncio.WriteTransport, ended: asyncio.Event) -> None:
        self._into = into
        self._ended = ended

    def data_received(self, data: bytes) -> None:
        self._into.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._into.close()
        self._ended.set()


async def relay(command: list[str]) -> None:
    """Until the child has said all it had to say."""
    loop = asyncio.get_running_loop()
    asked, answered = asyncio.Event(), asyncio.Event()
    with _started(command) as child:
        to_child, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, child.stdin)
        to_caller, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, _raw(1, "wb"))
        await loop.connect_read_pipe(lambda: Pour(to_child, asked), _raw(0, "rb"))
        await loop.connect_read_pipe(lambda: Pour(to_caller, answered), child.stdout)
        await asked.wait()
        await answered.wait()


def _started(command: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def _raw(descriptor: int, mode: str) -> Any:
    return os.fdopen(descriptor, mode, buffering=0)


if __name__ == "__main__":
    uvloop.run(relay(sys.argv[1:]))

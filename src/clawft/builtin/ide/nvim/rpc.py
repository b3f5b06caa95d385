"""MessagePack-RPC over Neovim's socket: requests out, answers and notifications in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from clawft.builtin.ide.nvim.msgpack import end_of_value
from clawft.errors import IdeFailed, IdeNotConnected

CONNECT_SECONDS = 2.0
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2

Hear = Callable[[str, list[Any]], None]


class NvimRpc(asyncio.Protocol):
    """One open socket. `gone` is done when it closes; `hear` gets notifications once it is set."""

    def __init__(self) -> None:
        self.hear: Hear | None = None
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._last = 0
        self.gone: asyncio.Future[None] = self._loop.create_future()

    @classmethod
    async def open(cls, socket: str) -> NvimRpc:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, rpc = await loop.create_unix_connection(cls, socket)
        except (OSError, TimeoutError) as failed:
            raise IdeNotConnected(f"Neovim cannot be reached at {socket}: {failed}") from None
        return rpc

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(IdeNotConnected("Neovim has closed the connection"))
        self._waiting.clear()
        if not self.gone.done():
            self.gone.set_result(None)

    async def request(self, method: str, *arguments: Any) -> Any:
        if self._transport is None or self.gone.done():
            raise IdeNotConnected("Neovim has closed the connection")
        self._last += 1
        id, waiter = self._last, self._loop.create_future()
        self._waiting[id] = waiter
        self._transport.write(msgspec.msgpack.encode([REQUEST, id, method, arguments]))
        try:
            return await waiter
        finally:
            self._waiting.pop(id, None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            while (end := end_of_value(self._buffer)) > 0:
                message = msgspec.msgpack.decode(bytes(self._buffer[:end]), ext_hook=_handle)
                del self._buffer[:end]
                self._accept(message)
        except (ValueError, msgspec.DecodeError):
            self.close()
        if len(self._buffer) > MAX_MESSAGE_BYTES:
            self.close()

    def _accept(self, message: Sequence[Any]) -> None:
        if message[0] == RESPONSE:
            _, id, error, result = message
            waiter = self._waiting.get(id)
            if waiter is None or waiter.done():
                return
            if error is not None:
                waiter.set_exception(IdeFailed(f"Neovim: {error[1] if isinstance(error, list) else error}"))
            else:
                waiter.set_result(result)
        elif message[0] == NOTIFICATION and self.hear is not None:
            self.hear(message[1], message[2])


def _handle(code: int, data: memoryview) -> int:
    """Buffers, windows and tabs as numbers."""
    return int(msgspec.msgpack.decode(data))

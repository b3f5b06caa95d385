"""JSON-RPC with a language server over its pipes: messages with a length in front, answers matched by id.

Requests of the server are answered by `serve`, its notifications handled by `hear`. When the child ends, all open
requests fail with one error that says how it ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import IdeFailed, SpawnFailed
from clawft.link.pipe_ends import handed_over
from clawft.link.process import Child, Launch, start
from clawft.sandbox.cell import Cell
from clawft.wire.correlate import OpenAnswers
from clawft.wire.strings import decode_mended

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_HEADER_BYTES = 4096
MAX_UNREAD_BYTES = 16 * 1024 * 1024
"""Bytes that may wait for a server that does not read; every change sends the whole text."""
LAST_WORDS_SECONDS = 0.1
"""Time for a child that closes its output to say how it ended."""
METHOD_NOT_FOUND = -32601
CONTENT_MODIFIED, SERVER_CANCELLED = -32801, -32802
"""Errors of a server that gave up an answer because the text changed: the request can be repeated."""

Hear = Callable[[str, Raw], None]
Serve = Callable[[str, Raw], Any]

T = TypeVar("T")


class NotServed(Exception):
    """A request of the server that we do not support."""


class _Error(Struct):
    code: int = 0
    message: str = ""


class _Message(Struct):
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: _Error | UnsetType = UNSET


_message = msgspec.json.Decoder(_Message)
_encode = msgspec.json.encode
_NULL = Raw(b"null")


def frame(message: dict[str, Any]) -> bytes:
    body = _encode(message)
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Framer:
    """Splits bytes into message bodies. Raises ValueError for a malformed frame."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._need = -1

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        bodies: list[bytes] = []
        while (body := self._next()) is not None:
            bodies.append(body)
        return bodies

    def _next(self) -> bytes | None:
        if self._need < 0 and not self._read_header():
            return None
        if len(self._buffer) < self._need:
            return None
        body = bytes(self._buffer[: self._need])
        del self._buffer[: self._need]
        self._need = -1
        return body

    def _read_header(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEADER_BYTES:
                raise ValueError("the header does not end")
            return False
        header = bytes(self._buffer[:end]).lower()
        del self._buffer[: end + 4]
        for line in header.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip() == b"content-length":
                self._need = int(value)
        if not 0 <= self._need <= MAX_MESSAGE_BYTES:
            raise ValueError(f"a message of {self._need} bytes")
        return True


class Rpc(asyncio.Protocol):
    """The connection to one child, until it ends."""

    def __init__(self, name: str, hear: Hear, serve: Serve) -> None:
        self.name = name
        self._hear = hear
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._framer = Framer()
        self._waiting: OpenAnswers[_Message] = OpenAnswers()
        self._stdin: asyncio.WriteTransport | None = None
        self._outputs: list[asyncio.BaseTransport] = []
        self._child: Child | None = None
        self.broken = ""

    async def start(self, command: Sequence[str], folder: str, env: dict[str, str], cell: Cell) -> None:
        try:
            child = start(Launch(command[0], tuple(command[1:]), env, folder, lambda argv, cwd: cell))
            await child.let_in()
        except SpawnFailed as failed:
            raise IdeFailed(failed.message, hint=failed.hint) from None
        self._child = child
        pipes = child.pipes
        self._stdin, _ = await self._loop.connect_write_pipe(asyncio.BaseProtocol, handed_over(pipes.stdin, self._loop))
        for protocol, pipe in ((self, pipes.stdout), (_Stderr(child), pipes.stderr)):
            transport, _ = await self._loop.connect_read_pipe(lambda one=protocol: one, handed_over(pipe, self._loop))
            self._outputs.append(transport)
        child.ended.add_done_callback(lambda _: self._break(child.why_ended()))

    @property
    def sandbox(self) -> str:
        """The sandbox of the child, in one line."""
        return self._child.sandbox if self._child is not None else ""

    async def request(self, method: str, params: Any, kind: type[T] | Any) -> T:
        """The answer, decoded as `kind`. Cancelling tells the server."""
        self.check()
        waiter: asyncio.Future[_Message] = self._loop.create_future()
        id = self._waiting.open(waiter)
        self._write({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        try:
            answer = await waiter
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": id})
            raise
        finally:
            self._waiting.close(id)
        if answer.error is not UNSET:
            word = "stale" if answer.error.code in (CONTENT_MODIFIED, SERVER_CANCELLED) else "failed"
            raise IdeFailed(f"{self.name}: {method}: {answer.error.message}", kind=word)
        try:
            return msgspec.json.decode(_NULL if answer.result is UNSET else answer.result, type=kind, strict=False)
        except msgspec.DecodeError as wrong:
            raise IdeFailed(f"{self.name} answered {method} in a form we do not know: {wrong}") from None

    def notify(self, method: str, params: Any) -> None:
        if not self.broken:
            self._write({"jsonrpc": "2.0", "method": method, "params": params})

    async def stop(self) -> None:
        self._break("was stopped")
        if self._child is not None:
            await self._child.stop(self._close_input)
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.abort()
        for output in self._outputs:
            cast("asyncio.ReadTransport", output).close()
        if self._child is not None:
            self._child.close_pipes()

    def _close_input(self) -> None:
        if self._stdin is not None:
            self._stdin.close()

    def check(self) -> None:
        """Raises IdeFailed if the child has ended."""
        if self.broken:
            raise IdeFailed(f"{self.name} {self.broken}", hint="ask again: it is started anew")

    def _write(self, message: dict[str, Any]) -> None:
        if self._stdin is None or self._stdin.is_closing():
            return
        if self._stdin.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self._give_up(f"does not read: {MAX_UNREAD_BYTES} bytes wait")
        else:
            self._stdin.write(frame(message))

    def data_received(self, data: bytes) -> None:
        try:
            for body in self._framer.feed(data):
                self._accept(decode_mended(_message, body))
        except (ValueError, RecursionError, msgspec.DecodeError) as wrong:
            self._give_up(f"wrote something that is not a message: {wrong}")

    def eof_received(self) -> None:
        self._loop.call_later(LAST_WORDS_SECONDS, self._gone)

    def _gone(self) -> None:
        if self._child is not None:
            self._give_up(self._child.why_ended())

    def _accept(self, message: _Message) -> None:
        if message.method is UNSET:
            if isinstance(message.id, int):
                self._waiting.fill(b"%d" % message.id, message)
            return
        params = _NULL if message.params is UNSET else message.params
        if message.id is UNSET or message.id is None:
            self._hear(message.method, params)
        else:
            self._answer(message.id, message.method, params)

    def _answer(self, id: int | str, method: str, params: Raw) -> None:
        try:
            self._write({"jsonrpc": "2.0", "id": id, "result": self._serve(method, params)})
        except NotServed:
            error = {"code": METHOD_NOT_FOUND, "message": f"unknown method: {method}"}
            self._write({"jsonrpc": "2.0", "id": id, "error": error})

    def _give_up(self, why: str) -> None:
        self._break(why)
        if self._child is not None:
            self._child.kill()

    def _break(self, why: str) -> None:
        if self.broken:
            return
        self.broken = why
        self._waiting.fail_all(IdeFailed(f"{self.name} {why}"))


class _Stderr(asyncio.Protocol):
    def __init__(self, child: Child) -> None:
        self._child = child

    def data_received(self, data: bytes) -> None:
        self._child.hear(data)

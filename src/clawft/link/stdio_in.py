"""Our own stdin and stdout as a link: whole lines in, whole lines out, without a thread where the system lets us."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Callable
from typing import IO

from clawft.wire.framing import DEFAULT_LIMIT, LineFramer, TooLong, join_lines

PAUSE_READING_ABOVE = 1024 * 1024
"""Bytes waiting in our output above which we stop reading: a caller that does not read is not served more."""
PIPE_BYTES = 1024 * 1024
READ_BYTES = 65_536

Accept = Callable[[bytes | TooLong], None]


class LineReader(asyncio.Protocol):
    """Frames what arrives and hands over each line; `ended` is done when the input is."""

    def __init__(self, accept: Accept, limit: int = DEFAULT_LIMIT) -> None:
        self._accept = accept
        self._framer = LineFramer(limit)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        for line in self._framer.feed(data):
            self._accept(line)

    def eof_received(self) -> None:
        for line in self._framer.end():
            self._accept(line)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


class LineWriter(asyncio.BaseProtocol):
    """Collects the lines of one turn of the loop into one write, and stops the reader while too much waits."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: list[bytes] = []
        self._waiting = 0
        self._transport: asyncio.WriteTransport | None = None
        self._reader: asyncio.ReadTransport | None = None
        self._drained = asyncio.Event()
        self._drained.set()
        self.broken: asyncio.Future[None] = self._loop.create_future()
        """Done when nobody reads our output any more."""

    def attach(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport
        transport.set_write_buffer_limits(high=PAUSE_READING_ABOVE)

    def throttle(self, reader: asyncio.ReadTransport) -> None:
        """Stop this reader while too much waits in our output."""
        self._reader = reader

    def write(self, message: bytes) -> None:
        if self.broken.done():
            return
        if not self._lines:
            self._loop.call_soon(self._flush)
        self._lines.append(message)
        self._waiting += len(message)

    def unread(self) -> int:
        """Bytes that the other side has not taken yet."""
        return self._waiting + (self._transport.get_write_buffer_size() if self._transport else 0)

    def _flush(self) -> None:
        lines, self._lines, self._waiting = self._lines, [], 0
        if lines and self._transport is not None and not self.broken.done():
            self._transport.write(join_lines(lines))

    def pause_writing(self) -> None:
        self._drained.clear()
        if self._reader is not None:
            self._reader.pause_reading()

    def resume_writing(self) -> None:
        self._drained.set()
        if self._reader is not None and not self._reader.is_closing():
            self._reader.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drained.set()
        if not self.broken.done():
            self.broken.set_result(None)

    async def finish(self, seconds: float) -> None:
        """Let what is written reach the other side, within bounds."""
        self._flush()
        if self._transport is None or self.broken.done():
            return
        self._transport.set_write_buffer_limits(high=0)
        try:
            async with asyncio.timeout(seconds):
                while self._transport.get_write_buffer_size() and not self.broken.done():
                    self._drained.clear()
                    await asyncio.wait({self.broken}, timeout=_POLL_SECONDS)
        except TimeoutError:
            pass
        self._transport.close()


_POLL_SECONDS = 0.01


async def open_stdio(accept: Accept, writer: LineWriter) -> LineReader:
    """Serve on our own stdin and stdout. Nothing else may be printed on stdout from now on."""
    loop = asyncio.get_running_loop()
    output = _take_stdout()
    if _is_pipe(output):
        transport, _ = await loop.connect_write_pipe(lambda: writer, output)
    else:
        transport = BlockingWrites(output, writer)
    writer.attach(transport)
    grow(sys.stdin.fileno(), output.fileno())
    if _is_pipe(sys.stdin.buffer):
        source, reader = await loop.connect_read_pipe(lambda: LineReader(accept), sys.stdin.buffer)
    else:
        reader = LineReader(accept)
        source = BlockingReads(sys.stdin.fileno(), reader)
    writer.throttle(source)
    return reader


def _take_stdout() -> IO[bytes]:
    """Keep the real stdout for protocol messages; a stray print lands on stderr instead."""
    output = os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)
    return output


def _is_pipe(file: IO[bytes]) -> bool:
    """Can the loop wait for it? Not for a file (`weft mcp-server < requests.jsonl`), not for /dev/null; and a terminal
    that is input and output at once would be read by both sides."""
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def grow(*descriptors: int) -> None:
    """Larger pipes save a wake-up per 64 KiB on both sides; where it is not allowed, nothing is lost."""
    if sys.platform == "linux":
        import fcntl

        for descriptor in descriptors:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            except OSError:
                continue


class BlockingWrites(asyncio.WriteTransport):
    """A file or terminal as output: writes hardly wait, so they may simply be made."""

    def __init__(self, file: IO[bytes], protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self._file = file
        self._protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as full:
            self._protocol.connection_lost(full)

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def close(self) -> None:
        self._file.close()


class BlockingReads(asyncio.ReadTransport):
    """A file or terminal as input, read by a thread: one piece at a time, and none while paused.

    The thread is a daemon: one that waits for a terminal must not keep us from leaving.
    """

    def __init__(self, descriptor: int, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Event()
        self._wanted.set()
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    def pause_reading(self) -> None:
        self._wanted.clear()

    def resume_reading(self) -> None:
        self._wanted.set()

    def is_closing(self) -> bool:
        return False

    def _run(self) -> None:
        try:
            while self._wanted.wait() and (data := self._read()):
                taken = threading.Event()
                self._loop.call_soon_threadsafe(self._take, data, taken)
                taken.wait()
            self._loop.call_soon_threadsafe(self._end)
        except RuntimeError:  # the loop is closed: nobody wants it any more
            return

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, READ_BYTES)
        except OSError:  # a terminal that was closed
            return b""

    def _take(self, data: bytes, taken: threading.Event) -> None:
        self._protocol.data_received(data)
        taken.set()

    def _end(self) -> None:
        self._protocol.eof_received()
        self._protocol.connection_lost(None)

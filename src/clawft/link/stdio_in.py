"""Our own stdin and stdout as a link: whole lines in, whole lines out, without a thread where the system lets us."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from typing import IO

from clawft.link.lines import Accept, LineReader, LineWriter, grow

READ_BYTES = 65_536


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
        _, reader = await loop.connect_read_pipe(lambda: LineReader(accept), sys.stdin.buffer)
    else:
        reader = LineReader(accept)
        reader.connection_made(BlockingReads(sys.stdin.fileno(), reader))
    writer.throttle(reader)
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

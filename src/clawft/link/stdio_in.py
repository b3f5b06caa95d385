"""Our own stdin and stdout: whole lines in, whole lines out, without a thread where the system allows it."""

from __future__ import annotations

import asyncio
import os
import select
import stat
import threading
from codecs import BOM_UTF8
from collections.abc import Callable
from functools import partial
from typing import IO, NamedTuple

from clawft.link.line_reader import Accept, LineReader
from clawft.link.line_writer import LineWriter
from clawft.link.pipe_ends import grow, handed_over
from clawft.wire.framing import TooLong

READ_BYTES = 65_536
LOOK_SECONDS = 0.5
"""How often we check whether the caller has gone, while we do not read its input."""
LEFT_SECONDS = 3.0
"""A caller that has gone and reads none of its answers for this long is taken to have no further requests."""


class StandardEnds(NamedTuple):
    """Where our caller's messages come from, and where ours go."""

    input: IO[bytes]
    output: IO[bytes]


def take_stdio() -> StandardEnds:
    """Our own stdin and stdout, for protocol messages alone, before anything runs that could use them.

    What else reads stdin (a keyring that asks for its password, a tool with `input`) finds its end instead of the
    caller's next request; what else is printed lands on stderr.
    """
    ends = StandardEnds(os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return ends


async def open_stdio(ends: StandardEnds, accept: Accept, writer: LineWriter) -> CallerReader:
    """Serve on what `take_stdio` gave."""
    loop = asyncio.get_running_loop()
    source, output = (handed_over(end, loop) if _is_pipe(end) else end for end in ends)
    if _is_pipe(output):
        transport, _ = await loop.connect_write_pipe(lambda: writer, output)
    else:
        transport = BlockingWrites(output, writer)
    writer.attach(transport)
    grow(source.fileno(), output.fileno())
    is_pipe = _is_pipe(source)
    reader = CallerReader(accept, partial(_has_left, source.fileno()) if is_pipe else None)
    writer.throttle(reader)  # before anything is read: the first piece may hold thousands of requests
    if is_pipe:
        await loop.connect_read_pipe(lambda: reader, source)
    else:
        reader.connection_made(BlockingReads(source, reader))
    return reader


class CallerReader(LineReader):
    """The lines of our caller. While reading is paused it checks by itself whether the input has ended."""

    def __init__(self, accept: Accept, has_left: Callable[[], bool] | None = None) -> None:
        """`has_left` tells the end of the input without reading it; None for a file, which needs no such check."""
        super().__init__(self._accept_first)
        self._accept_others = accept
        self.late = 0.0
        """How long the input had ended before we noticed."""
        self._has_left = has_left
        self._loop = asyncio.get_running_loop()
        self._held_since = 0.0
        self._looking = False

    def _accept_first(self, line: bytes | TooLong) -> None:
        """PowerShell and some editors put a byte order mark before all that they write."""
        self._accept = self._accept_others
        unmarked = line.removeprefix(BOM_UTF8) if isinstance(line, bytes) else line
        if unmarked:
            self._accept(unmarked)

    def hold(self, who: str) -> None:
        if not self.is_held:
            self._held_since = self._loop.time()
        super().hold(who)
        if self._has_left is not None and not self._looking:
            self._looking = True
            self._loop.call_later(LOOK_SECONDS, self._look, self._has_left)

    def _look(self, has_left: Callable[[], bool]) -> None:
        self._looking = self.is_held
        if not self._looking:
            return
        if not has_left():
            self._held_since = self._loop.time()
        elif self._loop.time() - self._held_since >= LEFT_SECONDS:
            self.late = LEFT_SECONDS
            self.give_up_input()
            return
        self._loop.call_later(LOOK_SECONDS, self._look, has_left)


def _has_left(descriptor: int) -> bool:
    """Whether nobody can write to it any more; there may still be something to read."""
    if not hasattr(select, "poll"):  # Windows
        return False
    look = select.poll()
    look.register(descriptor, select.POLLHUP)
    return any(seen & select.POLLHUP for _, seen in look.poll(0))


def _is_pipe(file: IO[bytes]) -> bool:
    """Whether the loop can wait for the file: not for a plain one (`weft mcp-server < requests.jsonl`), nor for
    /dev/null; and a terminal that is input and output at once would be read by both sides.
    """
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

    def __init__(self, file: IO[bytes], protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._file = file
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
            return os.read(self._file.fileno(), READ_BYTES)
        except OSError:  # a terminal that was closed
            return b""

    def _take(self, data: bytes, taken: threading.Event) -> None:
        self._protocol.data_received(data)
        taken.set()

    def _end(self) -> None:
        self._protocol.eof_received()
        self._protocol.connection_lost(None)

"""Reads and writes whole lines over a pair of pipes, with flow control on both sides."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import IO, cast

from clawft.link.direct_write import SingleLine, descriptor_of, write_directly
from clawft.link.share.turns import ALONE_FROM, TURNS, LinkSender, Turn
from clawft.link.share.unread_output import PACE_BYTES, SlowReader
from clawft.wire.framing import DEFAULT_LIMIT, LineFramer, TooLong, end_lines, join_lines

PAUSE_READING_ABOVE = 1024 * 1024
"""Unwritten bytes above which we stop reading, so that a caller that does not read is served no more."""
PIPE_BYTES = 1024 * 1024
PIECEWISE_BYTES = 256 * 1024
"""Bytes above which copying the output costs more than writing it in pieces."""

LARGE_READ = 64 * 1024
"""A read of so many bytes at once is part of something large."""

MANY_BLANK = 100
"""So many blank lines are tolerated."""

Accept = Callable[[bytes | TooLong], None]


class LineReader(asyncio.Protocol):
    """Splits input into lines and hands each over; `ended` is done when all of the input was handed over.

    While it is held, lines wait here and no more is read.
    """

    def __init__(
        self,
        accept: Accept,
        limit: int = DEFAULT_LIMIT,
        blank: Callable[[int], None] | None = None,
        *,
        in_turn: bool = False,
    ) -> None:
        """`blank` is told the number of many blank lines. `in_turn`: large lines of all such readers take turns."""
        self._accept = accept
        self._blank = blank
        self._turn = _LineTurn(self) if in_turn else None
        self._framer = LineFramer(limit)
        self._transport: asyncio.ReadTransport | None = None
        self._holders: set[str] = set()
        self._held: deque[bytes | TooLong] = deque()
        self._over = False
        self._is_cut_off = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        if len(data) >= LARGE_READ:
            _expect_large_lines()
        lines = self._framer.feed(data)
        SingleLine.is_current = len(lines) == 1
        self._hand_over(lines)
        SingleLine.is_current = False
        if self._turn is not None and (self._framer.held >= ALONE_FROM or self._turn.size):
            self._take_turn(self._turn)
        if self._framer.blank > MANY_BLANK:
            self._tell_of_blank()

    def _take_turn(self, turn: Turn) -> None:
        if not turn.hold(self._framer.held):
            self.hold(_OTHERS)

    def go_on(self) -> None:
        """Continue with a large line that had to wait for others."""
        self.let_go(_OTHERS)

    def give_up(self) -> None:
        """Skip the line that has begun."""
        self._hand_over(self._framer.give_up())

    def _tell_of_blank(self) -> None:
        blank, self._framer.blank = self._framer.blank, 0
        if self._blank is not None:
            self._blank(blank)

    def eof_received(self) -> None:
        rest = self._framer.end()
        self._is_cut_off = bool(rest)
        self._hand_over(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        turn, self._turn, self._transport = self._turn, None, None
        if turn is not None:
            turn.end()
        self._over = True
        self._end_when_done()

    def _hand_over(self, lines: list[bytes | TooLong]) -> None:
        """Hand each line over without keeping it: large ones are freed while they are worked on."""
        lines.reverse()
        while lines:
            if self._holders or self._held:
                self._held.append(lines.pop())
            else:
                self._accept(lines.pop())

    def hold(self, who: str) -> None:
        """Hand over no more lines until `who` lets go."""
        if not self._holders and self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
        self._holders.add(who)

    def let_go(self, who: str) -> None:
        """Go on, unless others still hold the reader; waiting lines come first."""
        self._holders.discard(who)
        while self._held and not self._holders:
            self._accept(self._held.popleft())
        if not self._holders and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        self._end_when_done()

    @property
    def is_held(self) -> bool:
        return bool(self._holders)

    @property
    def was_cut_off(self) -> bool:
        """Whether the input ended in the middle of the line just handed over."""
        return self._is_cut_off and not self._held

    @property
    def waits_for_others(self) -> bool:
        """Whether it waits in the middle of a large line."""
        return _OTHERS in self._holders

    def give_up_input(self) -> None:
        """Treat the input as ended, and drop what waits or was not read."""
        self._over = True
        self._held.clear()
        self._end_when_done()

    def _end_when_done(self) -> None:
        if not self._over or self._held:
            return
        if self._transport is None:  # nothing more comes: drop the reference to the receiver, which refers to us
            self._accept, self._blank = _unheard, None
        if not self.ended.done():
            self.ended.set_result(None)


def _unheard(line: bytes | TooLong) -> None:
    pass


@cache
def _expect_large_lines() -> None:
    from clawft.link.share.heap import keep_large_blocks  # most programs never see a large message

    keep_large_blocks()


class _LineTurn(Turn):
    def __init__(self, reader: LineReader) -> None:
        super().__init__(LinkSender())
        self._reader = reader

    def go_on(self) -> None:
        self._reader.go_on()

    def give_up(self) -> None:
        self._reader.give_up()


class LineWriter(asyncio.BaseProtocol):
    """Joins the lines of one loop iteration into one write, and holds the reader while too much is unwritten."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: list[bytes] = []
        self._waiting = 0
        self._transport: asyncio.WriteTransport | None = None
        self._descriptor: int | None = None
        self._reader: LineReader | None = None
        self._slow_reader: SlowReader | None = None
        self._drained = asyncio.Event()
        self._drained.set()
        self._paused = False
        self.full = False
        """More is unwritten than the other side is likely to take soon; cheaper than asking how much."""
        self.broken: asyncio.Future[None] = self._loop.create_future()
        """Done when nobody reads our output any more."""

    def attach(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport
        self._descriptor = descriptor_of(transport)
        transport.set_write_buffer_limits(high=PAUSE_READING_ABOVE if self._slow_reader is None else PACE_BYTES)

    def throttle(self, reader: LineReader) -> None:
        """Hold this reader while too much is unwritten."""
        self._reader = reader

    def count_for(self, reader: SlowReader) -> None:
        """Count what is unwritten here together with other links."""
        self._slow_reader = reader

    def write(self, message: bytes) -> None:
        lines = self._lines
        if not lines:
            if self.broken.done() or (SingleLine.is_current and self._is_written(message)):
                return
            self._loop.call_soon(self._flush)
        lines.append(message)
        self._waiting += len(message)
        if self._waiting > PAUSE_READING_ABOVE and not self.full:
            self.full = True
            if self._reader is not None:  # lines that were read already would be answered before the next check
                self._reader.hold(_TURN)

    def _is_written(self, message: bytes) -> bool:
        """Whether the message was written at once; later ones are joined as usual."""
        SingleLine.is_current = False
        if self._descriptor is None or self._transport is None:
            return False
        return write_directly(join_lines([message]), self._descriptor, self._transport)

    @property
    def lags(self) -> bool:
        """Whether the other side is too slow and is counted as such."""
        return self._slow_reader is not None and self._slow_reader.size > 0

    def wait_more(self, size: int) -> None:
        """Note that so many bytes arrived for a slow side."""
        if self._slow_reader is not None and self._slow_reader.size:
            self._slow_reader.lag(size)

    def unread(self) -> int:
        """Bytes that the other side has not taken yet."""
        return self._waiting + (self._transport.get_write_buffer_size() if self._transport else 0)

    def _flush(self) -> None:
        lines, waiting = self._lines, self._waiting
        self._lines, self._waiting = [], 0
        self.full = self._paused
        if lines and self._transport is not None and not self.broken.done():
            self._transport.writelines([join_lines(lines)] if waiting < PIECEWISE_BYTES else end_lines(lines))
        if waiting > PAUSE_READING_ABOVE and self._reader is not None:
            self._reader.let_go(_TURN)

    def pause_writing(self) -> None:
        self._paused = self.full = True
        self._drained.clear()
        if self._reader is not None:
            TURNS.block()
            self._reader.hold(_OUTPUT)
        if self._slow_reader is not None:
            self._slow_reader.lag()

    def resume_writing(self) -> None:
        self._unblock()
        self._paused = False
        self.full = self._waiting > PAUSE_READING_ABOVE
        self._drained.set()
        if self._reader is not None:
            self._reader.let_go(_OUTPUT)

    def _unblock(self) -> None:
        if self._paused and self._reader is not None:
            TURNS.unblock()
        if self._slow_reader is not None:
            self._slow_reader.caught_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unblock()
        self._slow_reader = None  # which holds those who write
        self._paused = False
        self._drained.set()
        if not self.broken.done():
            self.broken.set_result(None)

    async def finish(self, seconds: float) -> None:
        """Wait, within bounds, until the output has reached the other side."""
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
_OUTPUT = "output"
_TURN = "turn"
_OTHERS = "others"


def grow(*descriptors: int) -> None:
    """Enlarge the pipes, which saves a wake-up per 64 KiB on both sides; it may fail without harm."""
    if sys.platform == "linux":
        import fcntl  # not on every system

        for descriptor in descriptors:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            except OSError:
                continue


def handed_over(end: IO[bytes] | None, loop: asyncio.AbstractEventLoop) -> IO[bytes]:
    """The file object for the loop, in place of this end of a pipe, which is consumed.

    uvloop closes the descriptor, and then the file, which closes the same number again: by then some thread may have
    opened another file under it. So it gets one that closes nothing. Python's own loop closes the file alone.
    """
    if end is None or type(loop).__module__.partition(".")[0] != "uvloop":
        return cast("IO[bytes]", end)  # never None with pipes; the type of processes does not know
    with end:
        return open(os.dup(end.fileno()), "rb" if end.readable() else "wb", 0, closefd=False)

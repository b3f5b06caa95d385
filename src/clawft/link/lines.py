"""Whole lines over a pair of pipes, with neither side running away from the other."""

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
"""Bytes waiting in our output above which we stop reading: a caller that does not read is not served more."""
PIPE_BYTES = 1024 * 1024
PIECEWISE_BYTES = 256 * 1024
"""Bytes above which a copy of what is to be written costs more than writing it in pieces."""

LARGE_READ = 64 * 1024
"""Bytes that come at once only as part of something large."""

MANY_BLANK = 100
"""Lines with nothing on them that nobody minds."""

Accept = Callable[[bytes | TooLong], None]


class LineReader(asyncio.Protocol):
    """Frames what arrives and hands over each line; `ended` is done when the input is and every line was handed over.

    While somebody holds it, lines wait here and no more is read.
    """

    def __init__(
        self,
        accept: Accept,
        limit: int = DEFAULT_LIMIT,
        blank: Callable[[int], None] | None = None,
        *,
        in_turn: bool = False,
    ) -> None:
        """`blank` is told how many lines with nothing on them came, where those are many. `in_turn`: large lines of all
        such readers take turns.
        """
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
        """With a large line that had to wait for others."""
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
        """Each is given away: what is large is not kept here while it is worked on."""
        lines.reverse()
        while lines:
            if self._holders or self._held:
                self._held.append(lines.pop())
            else:
                self._accept(lines.pop())

    def hold(self, who: str) -> None:
        """Hand over no more until `who` lets go."""
        if not self._holders and self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
        self._holders.add(who)

    def let_go(self, who: str) -> None:
        """Go on, if nobody else holds it; what has waited comes first."""
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
        """Did the input end in the middle of the line that was handed over just now?"""
        return self._is_cut_off and not self._held

    @property
    def waits_for_others(self) -> bool:
        """In the middle of a large line."""
        return _OTHERS in self._holders

    def give_up_input(self) -> None:
        """It counts as over, with what waits here and what was not read."""
        self._over = True
        self._held.clear()
        self._end_when_done()

    def _end_when_done(self) -> None:
        if not self._over or self._held:
            return
        if self._transport is None:  # nothing more comes: who heard it holds us, and is held no longer
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
    """Collects the lines of one turn of the loop into one write, and stops the reader while too much waits."""

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
        """More waits than the other side is likely to take soon; cheaper than to ask how much."""
        self.broken: asyncio.Future[None] = self._loop.create_future()
        """Done when nobody reads our output any more."""

    def attach(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport
        self._descriptor = descriptor_of(transport)
        transport.set_write_buffer_limits(high=PAUSE_READING_ABOVE if self._slow_reader is None else PACE_BYTES)

    def throttle(self, reader: LineReader) -> None:
        """Hold this reader while too much waits in our output."""
        self._reader = reader

    def count_for(self, reader: SlowReader) -> None:
        """What waits here is counted with what waits elsewhere."""
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
            if self._reader is not None:  # lines that were read already would be answered before anybody looks again
                self._reader.hold(_TURN)

    def _is_written(self, message: bytes) -> bool:
        """Whether it is out already; what follows it is collected as ever."""
        SingleLine.is_current = False
        if self._descriptor is None or self._transport is None:
            return False
        return write_directly(join_lines([message]), self._descriptor, self._transport)

    @property
    def lags(self) -> bool:
        """Does the other side not keep up, and is counted for it?"""
        return self._slow_reader is not None and self._slow_reader.size > 0

    def wait_more(self, size: int) -> None:
        """So much came just now for one that lags."""
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
        self._slow_reader = None  # which holds whoever writes
        self._paused = False
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
_OUTPUT = "output"
_TURN = "turn"
_OTHERS = "others"


def grow(*descriptors: int) -> None:
    """Larger pipes save a wake-up per 64 KiB on both sides; where it is not allowed, nothing is lost."""
    if sys.platform == "linux":
        import fcntl  # not on every system

        for descriptor in descriptors:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            except OSError:
                continue


def handed_over(end: IO[bytes] | None, loop: asyncio.AbstractEventLoop) -> IO[bytes]:
    """What the loop gets in place of the end of a pipe, which is used up.

    uvloop closes the descriptor, and then the file, which closes the same number again: by then some thread may have
    opened another file under it. So it gets one that closes nothing. The loop of Python closes the file alone.
    """
    if end is None or type(loop).__module__.partition(".")[0] != "uvloop":
        return cast("IO[bytes]", end)  # never None with pipes; the type of processes does not know
    with end:
        return open(os.dup(end.fileno()), "rb" if end.readable() else "wb", 0, closefd=False)

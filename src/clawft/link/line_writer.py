"""Writes whole lines to a pipe, and holds the reader of the other direction while too much is unwritten."""

from __future__ import annotations

import asyncio

from clawft.link.direct_write import SingleLine, descriptor_of, write_directly
from clawft.link.line_reader import LineReader
from clawft.link.share.turns import TURNS
from clawft.link.share.unread_output import PACE_BYTES, SlowReader
from clawft.wire.framing import end_lines, join_lines

PAUSE_READING_ABOVE = 1024 * 1024
"""Unwritten bytes above which we stop reading, so that a caller that does not read is served no more."""
PIECEWISE_BYTES = 256 * 1024
"""Bytes above which copying the output costs more than writing it in pieces."""

_POLL_SECONDS = 0.01
_OUTPUT = "output"
_TURN = "turn"


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

"""Reads whole lines from a pipe. Lines wait while the reader is held, and large ones take turns."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import cast

from clawft.link.direct_write import SingleLine
from clawft.link.share.turns import ALONE_FROM, LinkSender, Turn
from clawft.wire.framing import DEFAULT_LIMIT, LineFramer, TooLong

LARGE_READ = 64 * 1024
"""A read of so many bytes at once is part of something large."""

MANY_BLANK = 100
"""So many blank lines are tolerated."""

Accept = Callable[[bytes | TooLong], None]

_OTHERS = "others"


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

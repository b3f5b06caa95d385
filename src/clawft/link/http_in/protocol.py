"""One HTTP/1.1 connection: requests answered strictly in order, every timeout of `Limits` held.

The server calls `check` now and then, which ends what is overdue.
"""

import asyncio
from contextvars import copy_context
from typing import Final, cast

from clawft.link.http_in.answer import refusal_answer
from clawft.link.http_in.backlog import Backlog
from clawft.link.http_in.exchange import Address, HttpExchange
from clawft.link.http_in.head import Head, Refusal
from clawft.link.http_in.intake import Hold, Intake
from clawft.link.http_in.reader import SLICE_BYTES, RequestReader
from clawft.link.http_in.roster import WAITS, ConnectionRoster, Place
from clawft.link.http_in.sent_ahead import Ahead
from clawft.link.http_in.socket_ends import address_of, has_left, home_of
from clawft.link.http_in.stamps import Stamps
from clawft.link.share.unread import IDLE_SECONDS

HOLD_BYTES: Final = 16 * 1024
"""Bytes held for later, of a body or of the next requests, before reading stops."""
WRITE_HIGH: Final = 64 * 1024
WRITE_LOW: Final = 16 * 1024
TOO_LATE: Final = Refusal(503, "shutting down: the call did not finish in time, and may have been done all the same")

OUT: Final = Refusal(503, "too many connections are open, and this request took too long; try again later")
AHEAD: Final = Refusal(503, "too much is sent ahead here; send the next request when the one before is answered")
LATE_HEAD: Final = Refusal(408, "the request head did not arrive in time")
LATE_BODY: Final = Refusal(408, "the request body did not arrive in time")


class Connection(asyncio.Protocol):
    """`current` is the exchange the application works on, in `task`; further ones wait in the reader.

    The task lives on between two requests, because starting one costs as much as many an answer.
    """

    def __init__(self, roster: ConnectionRoster) -> None:
        self.client: Address | None = None
        self.home = ""
        """Whose connection it is, where that is counted."""
        self.place = Place.NONE
        self.server: Address | None = None
        self.current: HttpExchange | None = None
        self.task: asyncio.Task[None] | None = None
        self._idle: asyncio.Future[None] | None = None
        self._roster = roster
        self._limits = roster.limits
        self._now = roster.loop.time
        self.backlog = Backlog()
        self._reader = RequestReader(roster.limits, roster.known, self._begin)
        self._stamps = Stamps(self._now())
        self._ahead = Ahead(roster.held)
        self._intake = Intake(self._now)
        self._deaf = False
        """What comes is not listened to: all is said, or it is not in yet."""
        self._gone = False
        """Nobody is at the other end."""
        self._close_by = 0.0
        """We have ended our side, and the other has to be gone by then; 0 before that."""

    # The transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._intake.attach(self._transport)
        self.client = address_of(transport.get_extra_info("peername"))
        self.server = address_of(transport.get_extra_info("sockname"))
        self._transport.set_write_buffer_limits(high=WRITE_HIGH, low=WRITE_LOW)
        self.home = home_of(self.client)
        refusal = self._roster.admit(self)
        if refusal is WAITS:
            self._deaf = True
            self._intake.hold(Hold.PORCH)
        elif refusal is not None:
            self.turn_away(refusal)

    def come_in(self) -> None:
        """There is a place for it now."""
        if self._close_by:  # it sent too much meanwhile
            return
        self._deaf = False
        self._stamps.begin(self._now())
        self._let_go(Hold.PORCH)
        self._feed(self._take_back())

    def turn_away(self, refusal: Refusal) -> None:
        self.place = Place.NONE
        self.write(refusal_answer(refusal))
        self._close()

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            if self.place is Place.PORCH:
                self._hold(data)
                self._intake.insist()
            return
        self._stamps.heard = self._now()
        known = self._reader.whole(data) if self.current is None else None
        if known is None:
            self._feed(data if len(data) <= SLICE_BYTES else memoryview(data))
        else:
            self._stamps.head_since = 0.0
            self._take_on(HttpExchange(self, known[0], self._stamps.heard, known[1]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = self._deaf = True
        self._ahead.let_go()
        if self.current is not None:
            self.current.leave()
        self.backlog.leave()
        if self.current is None:
            self._leave()
            self._wake()

    def _leave(self) -> None:
        """It is gone, and nobody works for it any more."""
        self._roster.forget(self)
        self._reader.close()

    def pause_writing(self) -> None:
        self.backlog.begin(self._now(), self._untaken, self._cut_off)

    def resume_writing(self) -> None:
        self.backlog.end()

    # Bytes in

    def _feed(self, data: bytes | memoryview) -> None:
        reader = self._reader
        while data and not self._deaf:
            if Hold.TURN in self._intake.holds or (self.current is not None and reader.reading is not self.current):
                self._hold(data)
                return
            data = data[reader.feed(data) :]
            self._look()
            if reader.crumbled and reader.reading is not None:
                self._take_turns()

    def _take_turns(self) -> None:
        """What comes in crumbs is dear to read: a little of it, and then others first."""
        self._intake.hold(Hold.TURN)
        self._roster.turns.call(self._read_on)

    def _read_on(self) -> None:
        self._let_go(Hold.TURN)
        self._feed(self._take_back())

    def _is_full(self) -> bool:
        """Has the application more of a body before it than it takes?"""
        return self._reader.reading is not None and self._reader.reading.buffered > HOLD_BYTES

    def _look(self) -> None:
        """Act on what the reader found."""
        reader = self._reader
        if reader.verdict is not None:
            self._refuse(reader.verdict)
            return
        self._deaf = reader.last
        if reader.in_head:
            self._stamps.head_since = self._stamps.head_since or self._stamps.heard
        if self._is_full():
            self._intake.hold(Hold.BODY)
        elif self._intake.held_since:  # it may have been, before the last of a body came, which nobody has to ask for
            self._let_go(Hold.BODY)
        self._advance()

    def _begin(self, head: Head) -> HttpExchange:
        self._stamps.head_since = 0.0
        return HttpExchange(self, head, self._stamps.heard)

    def _hold(self, data: bytes | memoryview) -> None:
        self._ahead.hold(data)
        if self._roster.held.too_many:
            self._ahead.let_go()
            self._refuse(AHEAD)
        elif self._ahead.size > HOLD_BYTES:
            self._intake.hold(Hold.AHEAD)

    def _take_back(self) -> memoryview:
        """What was held, and is read now."""
        held = self._ahead.let_go()
        self._let_go(Hold.AHEAD)
        return held

    def hear(self) -> None:
        self._stamps.heard = self._now()
        if self.current is not None and self.current.expects:
            self.current.began = self._stamps.heard
        if self._reader.reading is self.current:
            self._let_go(Hold.BODY)

    def _let_go(self, why: Hold) -> None:
        waited = self._intake.let_go(why)
        if self.current is not None:
            self.current.began += waited

    # One after the other

    def _advance(self) -> None:
        if self.current is not None or self._close_by or self._gone:
            return
        if self._reader.found:
            self._take_on(self._reader.found.popleft())
        elif self._reader.verdict is not None:
            self.write(refusal_answer(self._reader.verdict))
            self._linger()

    def _take_on(self, exchange: HttpExchange) -> None:
        self.current = exchange
        if self.task is None:
            self.task = self._roster.loop.create_task(self._serve())
        else:
            self._wake()

    def _wake(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None and not idle.done():
            idle.set_result(None)

    async def _serve(self) -> None:
        """One request after the other, until the connection is gone."""
        clean = copy_context()
        while copy_context() == clean:  # what one request set in its context, the next must not see
            current = self.current
            if current is not None:
                await self._answer(current)
                if self.current is not None:  # it was sent ahead
                    await self._roster.turns.wait()
            elif self._gone:
                break
            else:
                self._idle = self._roster.loop.create_future()
                await self._idle
        self.task = self._roster.loop.create_task(self._serve(), context=clean) if self.current is not None else None

    async def _answer(self, exchange: HttpExchange) -> None:
        try:
            if self.backlog.since:  # who does not take its answers is given no more of them
                await self.backlog.taken()
            await self._roster.serve(exchange)
        except Exception as error:  # noqa: BLE001 - whatever the application raises becomes a 500 and a log line
            exchange.crash(error)
        except asyncio.CancelledError:
            if not exchange.ended:
                exchange.interrupt()
            raise
        finally:
            self._done(exchange)

    def _done(self, exchange: HttpExchange) -> None:
        self.current = None
        self._stamps.done(self._now())
        unbroken = exchange.settle()
        if self._gone:
            self._leave()
        elif not unbroken:
            self._transport.abort()
        elif exchange.keep_alive and not self._roster.stopping:
            self._next()
        elif exchange.whole:
            self._close()
        else:
            self._linger()

    def _next(self) -> None:
        if self._reader.found or self._reader.verdict is not None:
            self._advance()
        if self._ahead.size and (self.current is None or self._reader.reading is self.current):
            self._stamps.heard = self._now()
            self._feed(self._take_back())

    def _refuse(self, refusal: Refusal) -> None:
        """Say no to what is being read: at once, or after the answers that come before it."""
        reader = self._reader
        self._deaf = True
        reader.verdict = refusal
        broken, reader.reading = reader.reading, None
        if broken is None or broken is not self.current:
            if broken is not None:
                reader.found.remove(broken)
            self._advance()
        elif broken.refuse(refusal):
            self._linger()
        else:
            self._transport.abort()

    # Bytes out

    def write(self, data: bytes | memoryview) -> None:
        if not self._gone and not self._close_by:
            self._transport.write(data)

    def _untaken(self) -> int:
        """Bytes of answers that are here still."""
        sending = self.current.sending if self.current is not None else 0
        return sending + self._transport.get_write_buffer_size()

    # The end

    def _close(self) -> None:
        if not self._close_by:
            self._deaf = True
            self._close_by = self._now() + self._limits.write_seconds
            self._transport.close()

    def _linger(self) -> None:
        """End our side and read on for a while: closing with bytes unread would reset what we just wrote."""
        if self._close_by or self._transport.is_closing():
            return
        self._deaf = True
        self._close_by = self._now() + self._limits.linger_seconds
        self._intake.let_all_go()
        self._transport.write_eof()

    # As the roster sees it

    def retire(self) -> None:
        """The server stops: finish what runs, start nothing new."""
        if self.current is not None:
            self.current.keep_alive = False
        else:
            self._close()

    def wanting(self) -> float:
        """Seconds without a whole request; less than none where one is being answered, or the end has come already.

        Who has not taken an answer yet gets longer.
        """
        if self._close_by or self._gone or self.place is Place.LEAVING:
            return -1.0
        if self.current is None:
            untaken = IDLE_SECONDS if self._transport.get_write_buffer_size() else 0.0
            return self._stamps.idle_for(self._now()) - untaken
        return self._now() - self.current.began if self._waits_for_body(self.current) else -1.0

    def _waits_for_body(self, current: HttpExchange) -> bool:
        """Is it the client who keeps us waiting?"""
        return self._reader.reading is current and not self._intake.held_since and not current.expects

    def listening(self) -> float:
        """Seconds since it began to listen for news; -1 where it waits for an answer."""
        if self.current is None or not self.current.listens or self.place is Place.LEAVING:
            return -1.0
        return self._now() - self.current.began

    def overstaying(self) -> float:
        """Seconds that the request of a guest takes, who may have left already; -1 where there is none."""
        if self.place is not Place.GUEST or self.current is None or not self.current.whole or self._close_by:
            return -1.0
        return self._now() - self.current.began

    def give_way(self) -> None:
        overstays = self.overstaying() >= 0
        self.place = Place.LEAVING
        if self.current is None and not self._transport.get_write_buffer_size():
            self._close()
        elif self.current is None or not overstays:
            self._transport.abort()
        elif self.current.refuse(OUT):
            self._cancel()
            self._linger()
        else:
            self.kill()

    def _cut_off(self, size: int) -> None:
        """It does not take its answers, and others need the room."""
        self._transport.abort()

    def kill(self) -> None:
        """We stop: whoever was not answered in time hears so."""
        current = self.current
        if current is None or current.started or current.gone:
            self._transport.abort()
        else:
            self.write(refusal_answer(TOO_LATE))
            current.ended = current.gone = True
            self._transport.close()
        self._cancel()

    def _cancel(self) -> None:
        """Whatever the application does for a client that has no use for it any more."""
        if self.task is not None:
            # A task cancelled before its first step never reaches `_done`.
            self.task.add_done_callback(lambda _: self._leave())
            self.task.cancel()

    def check(self, now: float) -> None:
        """End what is overdue."""
        limits, stamps = self._limits, self._stamps
        if self._intake.held_since and has_left(self._transport):
            self._transport.abort()
        elif self._close_by:
            if now > self._close_by:
                self._transport.abort()
        elif self.backlog.since:
            if now - self.backlog.since > limits.write_seconds:
                self._transport.abort()
        elif self.current is not None:
            if self._waits_for_body(self.current) and stamps.is_late_body(now, self.current.began, limits):
                self._refuse(LATE_BODY)
        elif self._reader.in_head:
            if stamps.is_late_head(now, limits):
                self._refuse(LATE_HEAD)
        elif stamps.is_idle(now, limits):
            self._close()

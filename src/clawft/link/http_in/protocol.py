"""One HTTP/1.1 connection: its requests are answered strictly in order, within the timeouts of `Limits`.

The server calls `check` now and then to enforce them.
"""

import asyncio
from contextvars import copy_context
from typing import Final, cast

from clawft.link.http_in.answer import refusal_answer
from clawft.link.http_in.backlog import Backlog
from clawft.link.http_in.eviction import Place, seconds_overstayed
from clawft.link.http_in.exchange import Address, HttpExchange
from clawft.link.http_in.head import Head, Refusal
from clawft.link.http_in.pipelined import PipelinedBytes
from clawft.link.http_in.read_pauses import PauseReason, ReadPauses
from clawft.link.http_in.reader import SLICE_BYTES, RequestReader
from clawft.link.http_in.roster import ConnectionRoster
from clawft.link.http_in.socket_ends import address_of, counted_network, has_left
from clawft.link.http_in.timestamps import Timestamps

HOLD_BYTES: Final = 16 * 1024
"""Bytes of a body, or of pipelined requests, that are held before reading is paused."""
WRITE_HIGH: Final = 64 * 1024
WRITE_LOW: Final = 16 * 1024
TOO_LATE: Final = Refusal(503, "shutting down: the call did not finish in time; it may have taken effect")

OVERSTAYED: Final = Refusal(503, "too many connections are open, and this request took too long; try again later")
TOO_MUCH_PIPELINED: Final = Refusal(
    503, "too much is sent ahead here; send the next request when the one before is answered"
)
LATE_HEAD: Final = Refusal(408, "the request head did not arrive in time")
LATE_BODY: Final = Refusal(408, "the request body did not arrive in time")


class Connection(asyncio.Protocol):
    """`current` is the exchange the application works on, in `task`; further ones wait in the reader.

    The task lives on between two requests, because starting one costs as much as many an answer.
    """

    def __init__(self, roster: ConnectionRoster) -> None:
        self.client: Address | None = None
        self.network = ""
        """The group of addresses it counts for; empty if it is not counted."""
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
        self.timestamps = Timestamps(self._now())
        self._pipelined = PipelinedBytes(roster.pipelined)
        self._pauses = ReadPauses(self._now)
        self._ignores_input = False
        """Set while it waits for a place, and again when nothing more is read."""
        self._disconnected = False
        """The client has disconnected."""
        self.close_deadline = 0.0
        """When the client has to be gone, once we have ended our side; 0 before that."""

    # The transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._pauses.attach(self._transport)
        self.client = address_of(transport.get_extra_info("peername"))
        self.server = address_of(transport.get_extra_info("sockname"))
        self._transport.set_write_buffer_limits(high=WRITE_HIGH, low=WRITE_LOW)
        self.network = counted_network(self.client)
        refusal = self._roster.admit(self)
        if refusal is not None:
            self.reject(refusal)
        elif self.place is Place.WAITING:
            self._ignores_input = True
            self._pauses.pause(PauseReason.NOT_ADMITTED)

    def admitted(self) -> None:
        """A place is free for it now."""
        if self.close_deadline:  # it sent too much meanwhile
            return
        self._ignores_input = False
        self.timestamps.begin(self._now())
        self._resume(PauseReason.NOT_ADMITTED)
        self._feed(self._take_pipelined())

    def reject(self, refusal: Refusal) -> None:
        self.place = Place.NONE
        self.write(refusal_answer(refusal))
        self._close()

    def data_received(self, data: bytes) -> None:
        if self._ignores_input:
            if self.place is Place.WAITING:
                self._keep(data)
                self._pauses.pause_again()
            return
        self.timestamps.heard = self._now()
        known = self._reader.whole(data) if self.current is None else None
        if known is None:
            self._feed(data if len(data) <= SLICE_BYTES else memoryview(data))
        else:
            self.timestamps.head_since = 0.0
            self._take_on(HttpExchange(self, known[0], self.timestamps.heard, known[1]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._disconnected = self._ignores_input = True
        self._pipelined.take()
        if self.current is not None:
            self.current.leave()
        self.backlog.leave()
        if self.current is None:
            self._leave()
            self._wake()

    def _leave(self) -> None:
        """The client has disconnected and no application works for it any more."""
        self._roster.forget(self)
        self._reader.close()

    def pause_writing(self) -> None:
        self.backlog.begin(self._now(), self._unsent_bytes, self._cut_off)

    def resume_writing(self) -> None:
        self.backlog.end()

    # Bytes in

    def _feed(self, data: bytes | memoryview) -> None:
        reader = self._reader
        while data and not self._ignores_input:
            is_next = self.current is None or reader.reading is self.current
            if not is_next or PauseReason.OTHERS_FIRST in self._pauses.reasons:
                self._keep(data)
                return
            data = data[reader.feed(data) :]
            self._act_on_read()
            if reader.in_tiny_pieces and reader.reading is not None:
                self._let_others_first()

    def _let_others_first(self) -> None:
        """A body in tiny pieces is expensive to parse: after each slice of it other connections come first."""
        self._pauses.pause(PauseReason.OTHERS_FIRST)
        self._roster.turns.call(self._read_on)

    def _read_on(self) -> None:
        self._resume(PauseReason.OTHERS_FIRST)
        self._feed(self._take_pipelined())

    def _is_full(self) -> bool:
        """Whether the application has too much of a body before it that it has not read."""
        return self._reader.reading is not None and self._reader.reading.buffered > HOLD_BYTES

    def _act_on_read(self) -> None:
        """Act on what the reader has found in the last slice."""
        reader = self._reader
        if reader.refusal is not None:
            self._refuse(reader.refusal)
            return
        self._ignores_input = reader.last
        if reader.in_head:
            self.timestamps.head_since = self.timestamps.head_since or self.timestamps.heard
        if self._is_full():
            self._pauses.pause(PauseReason.BODY_NOT_READ)
        elif self._pauses.paused_since:  # the body was full before its last bytes came, and nobody has to ask for more
            self._resume(PauseReason.BODY_NOT_READ)
        self._advance()

    def _begin(self, head: Head) -> HttpExchange:
        self.timestamps.head_since = 0.0
        return HttpExchange(self, head, self.timestamps.heard)

    def _keep(self, data: bytes | memoryview) -> None:
        self._pipelined.add(data)
        if self._roster.pipelined.too_many:
            self._pipelined.take()
            self._refuse(TOO_MUCH_PIPELINED)
        elif self._pipelined.size > HOLD_BYTES:
            self._pauses.pause(PauseReason.PIPELINED)

    def _take_pipelined(self) -> memoryview:
        """The pipelined bytes, to be read now."""
        held = self._pipelined.take()
        self._resume(PauseReason.PIPELINED)
        return held

    def read_more(self) -> None:
        self.timestamps.heard = self._now()
        if self.current is not None and self.current.expects:
            self.current.began = self.timestamps.heard
        if self._reader.reading is self.current:
            self._resume(PauseReason.BODY_NOT_READ)

    def _resume(self, why: PauseReason) -> None:
        waited = self._pauses.resume(why)
        if self.current is not None:
            self.current.began += waited

    # Requests, one after the other

    def _advance(self) -> None:
        if self.current is not None or self.close_deadline or self._disconnected:
            return
        if self._reader.found:
            self._take_on(self._reader.found.popleft())
        elif self._reader.refusal is not None:
            self.write(refusal_answer(self._reader.refusal))
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
                if self.current is not None:  # it was pipelined
                    await self._roster.turns.wait()
            elif self._disconnected:
                break
            else:
                self._idle = self._roster.loop.create_future()
                await self._idle
        self.task = self._roster.loop.create_task(self._serve(), context=clean) if self.current is not None else None

    async def _answer(self, exchange: HttpExchange) -> None:
        try:
            if self.backlog.since:  # a client that does not read its answers is given no more of them
                await self.backlog.wait_for_room()
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
        self.timestamps.done(self._now())
        unbroken = exchange.settle()
        if self._disconnected:
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
        if self._reader.found or self._reader.refusal is not None:
            self._advance()
        if self._pipelined.size and (self.current is None or self._reader.reading is self.current):
            self.timestamps.heard = self._now()
            self._feed(self._take_pipelined())

    def _refuse(self, refusal: Refusal) -> None:
        """Refuse the request that is being read, after the answers that come before it."""
        reader = self._reader
        self._ignores_input = True
        reader.refusal = refusal
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
        if not self._disconnected and not self.close_deadline:
            self._transport.write(data)

    def _unsent_bytes(self) -> int:
        """Bytes of answers that the client has not read yet."""
        sending = self.current.sending if self.current is not None else 0
        return sending + self._transport.get_write_buffer_size()

    # The end

    def _close(self) -> None:
        if not self.close_deadline:
            self._ignores_input = True
            self.close_deadline = self._now() + self._limits.write_seconds
            self._transport.close()

    def _linger(self) -> None:
        """End our side and read on for a while: closing with unread input would reset what we just wrote."""
        if self.close_deadline or self._transport.is_closing():
            return
        self._ignores_input = True
        self.close_deadline = self._now() + self._limits.linger_seconds
        self._pauses.resume_all()
        self._transport.write_eof()

    # As the roster sees it

    def finish_and_close(self) -> None:
        """The server stops: finish the running request, start no other."""
        if self.current is not None:
            self.current.keep_alive = False
        else:
            self._close()

    @property
    def is_ending(self) -> bool:
        return self.close_deadline > 0 or self._disconnected

    @property
    def has_unsent_bytes(self) -> bool:
        return self._transport.get_write_buffer_size() > 0

    def waits_for_body_of(self, current: HttpExchange) -> bool:
        """Whether it is the client who keeps us waiting."""
        return self._reader.reading is current and not self._pauses.paused_since and not current.expects

    def give_way(self) -> None:
        """Close it to make room for another connection."""
        is_overstaying = seconds_overstayed(self, self._now()) >= 0
        self.place = Place.LEAVING
        if self.current is None and not self.has_unsent_bytes:
            self._close()
        elif self.current is None or not is_overstaying:
            self._transport.abort()
        elif self.current.refuse(OVERSTAYED):
            self._cancel()
            self._linger()
        else:
            self.kill()

    def _cut_off(self, size: int) -> None:
        """The client does not read its answers, and others need the memory."""
        self._transport.abort()

    def kill(self) -> None:
        """The server stops: a request that was not answered in time is told so."""
        current = self.current
        if current is None or current.started or current.gone:
            self._transport.abort()
        else:
            self.write(refusal_answer(TOO_LATE))
            current.ended = current.gone = True
            self._transport.close()
        self._cancel()

    def _cancel(self) -> None:
        """Cancel the application's work on the current request."""
        if self.task is not None:
            # A task cancelled before its first step never reaches `_done`.
            self.task.add_done_callback(lambda _: self._leave())
            self.task.cancel()

    def check(self, now: float) -> None:
        """End the connection, or refuse its request, if one of its timeouts has passed."""
        limits, times = self._limits, self.timestamps
        if self._pauses.paused_since and has_left(self._transport):
            self._transport.abort()
        elif self.close_deadline:
            if now > self.close_deadline:
                self._transport.abort()
        elif self.backlog.since:
            if now - self.backlog.since > limits.write_seconds:
                self._transport.abort()
        elif self.current is not None:
            if self.waits_for_body_of(self.current) and times.is_late_body(now, self.current.began, limits):
                self._refuse(LATE_BODY)
        elif self._reader.in_head:
            if times.is_late_head(now, limits):
                self._refuse(LATE_HEAD)
        elif times.is_idle(now, limits):
            self._close()

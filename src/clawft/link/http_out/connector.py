"""Connections to servers over HTTP, with what aiohttp lacks. Loads aiohttp: import it on first use."""

from __future__ import annotations

import select
import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from aiohttp import ClientPayloadError, ServerDisconnectedError, TCPConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from clawft.link.http_out.connect_failure import EndlessAnswer, GarbledBody, reason
from clawft.link.http_out.keep_alive import LONGEST_SECONDS, SOON_SECONDS, KeepAlive
from clawft.link.share.read_throttle import UNSOLICITED_SHARE
from clawft.link.share.unread_output import SlowReader

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, BaseTransport
    from collections import deque

    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

MAX_HEADS = 64
"""Heads of answers that wait to be read on one connection; `100 Continue` is one, and may come again and again."""
AT_ONCE = 8 * 1024
"""Bytes that are taken in one go where they are cut into many tiny chunks: each costs as much as a large one."""
MAX_FRAMING = 1024 * 1024
"""Bytes of chunk framing around a body: a chunk may have extensions that never end."""
FRAMING_EACH = 16
"""More of them for each byte of the body, which may come in chunks of one byte."""
_FINAL = 200
"""Below it a head is only a word in between."""
_TINY = 24
"""A line end in so many bytes, or fewer, is what such chunks look like."""


class BoundedConnection(ResponseHandler):
    """One connection, with bounds on what the server can make us do.

    It is cut off for endless heads or chunk framing, read slowly when it sends many tiny chunks, and given up when it
    does not read. Whoever reads a body is told when the connection breaks.
    """

    _rest = b""
    _reading: object = None
    _came = 0
    """Bytes in answer to this request."""
    _unread: SlowReader | None = None
    _answered: object = None
    """The reader of the head of an answer; there is a new one for each request."""
    _ended = 0.0
    _idle: float | None = None
    """For how long it was idle before the request it has now; None for its first."""
    _used = 0.0
    """When that request was sent."""

    def __init__(self, loop: AbstractEventLoop, keep_alive: KeepAlive) -> None:
        super().__init__(loop)
        self._keep_alive = keep_alive

    def use_again(self, idle: float, now: float) -> None:
        """Note that the next request is sent now, after so many idle seconds."""
        self._idle, self._used = idle, now

    def ended_at(self) -> float:
        """When it was found closed while idle; 0 if it is still open."""
        if not self._ended and (self.transport is None or self.transport.is_closing() or _is_readable(self.transport)):
            self._ended = time.monotonic()
        return self._ended

    def data_received(self, data: bytes) -> None:
        if self._answered is self._parser and data and (self._payload is None or self._payload.is_eof()):
            self._reject_unasked()
        elif self._rest and data:
            self._rest += data
            self._read_on(False)
        elif len(data) <= AT_ONCE or data.count(b"\n") * _TINY < len(data):
            self._parse(data)
        else:
            self._rest = data
            self._should_close = True  # what is left would be found by whoever asks next
            self._take_some()

    def _parse(self, data: bytes) -> None:
        if self._reading is not self._parser:  # a new one for each request
            self._reading, self._came = self._parser, 0
        super().data_received(data)
        self._came += len(data)
        body = self._payload
        if body is not None and self._came > MAX_FRAMING + FRAMING_EACH * body.total_bytes:
            self._cut_off(f"more than {MAX_FRAMING} bytes of framing around a response")

    def _take_some(self) -> None:
        """Parse a part of what is here, then leave the time to others, for as long as makes this our share of it."""
        began = time.monotonic()
        some, self._rest = self._rest[:AT_ONCE], self._rest[AT_ONCE:]
        self._parse(some)
        if self._rest:
            self._loop.call_later((time.monotonic() - began) / UNSOLICITED_SHARE, self._go_on)
        self._read_on(not self._rest and not self._reading_paused)

    def _read_on(self, wanted: bool) -> None:
        """Have the transport read on if that is `wanted`, else not until we are done with what is here."""
        if self.transport is None or self.transport.is_closing():
            return
        if wanted:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()

    def resume_reading(self, *args: Any, **options: Any) -> None:
        """Resume reading, as there is room again; but nothing new, not even the end, may come before the bytes that are
        here.
        """
        super().resume_reading(*args, **options)
        if self._rest:
            self._read_on(False)

    def _go_on(self) -> None:
        if self._rest and self.transport is not None:
            self._take_some()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self._unread or SlowReader(self._untaken, self._give_up)
        self._unread.lag()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.caught_up()

    def _untaken(self) -> int:
        """Bytes of requests that are here still."""
        return self.transport.get_write_buffer_size() if self.transport is not None else 0

    def _give_up(self, size: int) -> None:
        if self.transport is not None:
            self.transport.abort()
        self.set_exception(ServerDisconnectedError(f"it does not read: {size} bytes wait, and others need the room"))

    def close(self) -> None:
        """Without waiting for what it did not read: nobody wants the answer, and it may never read."""
        if self._untaken():
            self.abort()
        else:
            self._close_up()
            super().close()

    def abort(self) -> None:
        self._close_up()
        super().abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._unread is not None:
            self._unread.caught_up()
        now = time.monotonic()
        if self._idle is not None and now - self._used < SOON_SECONDS and self._is_unheard():
            self._keep_alive.note_lost_request(self._idle, now)
        rest, self._rest = self._rest, b""
        if rest and self.transport is not None:
            super().data_received(rest)
        super().connection_lost(exc)
        self._reading = self._answered = None  # parsers, which hold us: the collector would have to part us
        self._ended = self._ended or time.monotonic()

    def _is_unheard(self) -> bool:
        """Whether the server closed it without a byte in answer to the last request."""
        is_ours = self.transport is None or self.exception() is not None
        return not is_ours and self._parser is not None and self._reading is not self._parser

    def _reject_unasked(self) -> None:
        """Close a connection that sends before we have asked: the next request on it would take that for its answer."""
        self._should_close = True
        if self.transport is not None:
            self.transport.abort()

    def feed_data(self, data: Any, size: int = 0) -> None:
        if data[0].code >= _FINAL:
            self._answered = self._parser
            self._keep_alive.read_header(data[0].headers.get("Keep-Alive", ""))
        if len(self._buffer) < MAX_HEADS:
            super().feed_data(data, size)
        else:
            self._cut_off(f"more than {MAX_HEADS} answers to one request")

    def _cut_off(self, why: str) -> None:
        if self.transport is not None:
            self.transport.abort()
        self.set_exception(EndlessAnswer(why))

    def set_exception(self, exc: Any, exc_cause: Any = None) -> None:
        super().set_exception(exc, exc_cause or exc)
        if isinstance(exc, HttpProcessingError | EndlessAnswer):
            self._break_off(GarbledBody(reason(exc)))
        else:
            self._break_off(ClientPayloadError(str(exc)))

    def _close_up(self) -> None:
        """End it from our side; drop what came and nobody has read, as it refers to this connection."""
        self._break_off(ClientPayloadError("we have closed the connection"))
        self._buffer.clear()

    def _break_off(self, why: ClientPayloadError) -> None:
        """Tell whoever reads the body: aiohttp leaves them waiting for ever, also when it is we who close."""
        body = self._payload
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(why)


def _is_readable(transport: BaseTransport) -> bool:
    """Whether something came that the loop has not taken yet; while nothing is asked that is the end, or as bad."""
    if not hasattr(select, "poll"):  # on Windows
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


class Connector(TCPConnector):
    """To one server, or for one request."""

    def __init__(self, **options: Any) -> None:
        options["keepalive_timeout"] = LONGEST_SECONDS
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]  # an argument we do not give has no type
        self._keep_alive = KeepAlive()
        self._factory = partial(
            BoundedConnection, loop=self._loop, keep_alive=self._keep_alive
        )  # aiohttp has no other place to say it

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        """One that waits for a request, and is not about to end, nor has ended unseen."""
        waiting = cast("deque[tuple[BoundedConnection, float]] | None", self._conns.get(key))  # our factory made them
        while waiting and not self._lasts(*waiting[0]):
            waiting.popleft()[0].close()
        if waiting:
            connection, since = waiting[0]
            now = time.monotonic()
            connection.use_again(now - since, now)
        return await super()._get(key, traces)

    def _lasts(self, connection: BoundedConnection, since: float) -> bool:
        now, ended = time.monotonic(), connection.ended_at()
        if ended:
            self._keep_alive.note_closed(ended - since)
            return False
        self._keep_alive.note_open(now - since)
        return now - since < self._keep_alive.seconds(now)

"""One request over HTTP: answered with JSON, or with an event stream once there is something to stream before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from clawft.errors import INTERNAL_ERROR, Busy
from clawft.gateway.http.authorized_request import AuthorizedRequest
from clawft.gateway.http.streams import EventStream
from clawft.gateway.running_requests import LAST_WORD, CodeOf, RunningRequests, Work
from clawft.link import asgi
from clawft.link.asgi import JSON, Send
from clawft.link.share.byte_limits import ANSWERS, Reservation
from clawft.link.share.turns import TURNS
from clawft.link.share.unread_output import UNREAD
from clawft.wire.codes import status_of
from clawft.wire.jsonrpc import writing

LARGE_ANSWER = 256 * 1024
"""Well above what is disconnected of a text: a picture, say."""


class HttpAnswer:
    """Sends the answer to one request, and before it what belongs to that request."""

    __slots__ = ("_disconnected", "_http", "_key", "_new_stream", "_pump", "_reader", "_running", "_stream", "over")

    def __init__(
        self,
        http: AuthorizedRequest,
        running: RunningRequests,
        key: bytes,
        new_stream: Callable[[], EventStream] = EventStream,
    ) -> None:
        """`key` is its key among the running requests."""
        self._http = http
        self._running = running
        self._key = key
        self._new_stream = new_stream
        self._stream: EventStream | None = None
        self._pump: asyncio.Task[None] | None = None
        self._disconnected = False
        self.over = False

    # ── as an outlet ─────────────────────────────────────────────────────────────────────────────────────────────────

    def send(self, message: bytes) -> None:
        self._opened().send(message)

    def hang_up(self, retry_ms: int) -> None:
        """Only where the caller can come back to its stream."""
        if self._new_stream is not EventStream:
            self._opened().hang_up(retry_ms)

    def _opened(self) -> EventStream:
        """The event stream, opened with the first message on it."""
        if self._stream is None:
            self._stream = self._new_stream()
            self._reader = self._stream.enter()
            frames = self._stream.read(self._reader)
            self._pump = asyncio.get_running_loop().create_task(_pump(self._http.send, frames))
        return self._stream

    # ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def serve(self, id: bytes, work: Work, code_of: CodeOf) -> None:
        """Run the work in this very task and send its answer."""
        stop_watching = self._http.on_disconnect(self.disconnected)
        try:
            message = await self._running.run_here(self._key, id, work, code_of)
            sending = self._send(message) if len(message) <= LARGE_ANSWER else self._send_large(id, message)
            if sending is not None:
                del message  # which may be large, and may be there in another form now
                await sending
        except asyncio.CancelledError:
            self._say_last_word(id)
            raise
        finally:
            stop_watching()

    def _say_last_word(self, id: bytes) -> None:
        """Answer before our own task is ended, at a second signal for example."""
        if not self.over and self._stream is None:
            message = writing.failure(id, INTERNAL_ERROR, LAST_WORD)
            self._http.answer_at_once(self._status_of(message), message, JSON_HEADERS)

    async def serve_together(self, answers: Awaitable[bytes]) -> None:
        """Send the answer of work that runs elsewhere."""
        stop_watching = self._http.on_disconnect(self.disconnected)
        try:
            sending = self._send(await answers)
            if sending is not None:
                await sending
        finally:
            stop_watching()

    def _send(self, message: bytes) -> Awaitable[None] | None:
        """None if there is nothing to wait for."""
        self.over = True
        if self._stream is not None:
            return self._end_stream(self._stream, message)
        if self._disconnected:
            return None
        if message:
            return self._http.answer(self._status_of(message), message, JSON_HEADERS)
        return self._http.answer(202)  # cancelled: nothing more is said about it, but HTTP wants an end

    def _status_of(self, message: bytes) -> int:
        return 200

    async def _send_large(self, id: bytes, message: bytes) -> None:
        with Reservation(ANSWERS) as load:
            TURNS.begin_work()  # no other is read before this one is where its reader takes it from
            try:
                sending = self._send(await _admitted(load, id, message))
                del message
            finally:
                TURNS.end_work()
            if sending is not None:
                await sending

    def _end_stream(self, stream: EventStream, message: bytes) -> Awaitable[None]:
        if message:
            stream.finish(message)
        else:
            stream.end()
        return self._pumped()

    async def _pumped(self) -> None:
        if self._pump is not None:
            await asyncio.gather(self._pump, return_exceptions=True)

    def disconnected(self) -> None:
        """The caller has disconnected; a stream that can be resumed continues without it."""
        self._disconnected = True
        if self._stream is not None:
            self._stream.leave(self._reader)


class LoneAnswer(HttpAnswer):
    """The answer to a stateless request: disconnecting cancels it, and the HTTP status tells how it ended."""

    __slots__ = ()

    def disconnected(self) -> None:
        super().disconnected()
        self._running.cancel(self._key)

    def _status_of(self, message: bytes) -> int:
        return status_of(message)


async def _pump(send: Send, frames: AsyncIterator[bytes]) -> None:
    """A client that disconnects is no error; raised, it would keep the frames in memory with the task."""
    with suppress(ConnectionError):
        await asgi.stream(send, frames)


async def _admitted(load: Reservation, id: bytes, message: bytes) -> bytes:
    """The answer, or a "busy" error if there is no room for it."""
    if not ANSWERS.has_room(len(message)) and UNREAD.give_up_idle():
        await _few_turns()
    try:
        load.add(len(message))
    except Busy as busy:
        return writing.failure_of(id, busy)
    return message


async def _few_turns() -> None:
    """Let the loop turn until the answers of clients that were just cut off are out of memory."""
    for _ in range(10):
        await asyncio.sleep(0)


JSON_HEADERS = (JSON,)

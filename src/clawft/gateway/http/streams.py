"""Event streams of HTTP answers: opened with their first message, bounded, resumable in the handshake era."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from weakref import ReferenceType, ref

from clawft.errors import BadParams
from clawft.link.share.memory_budget import MEMORY_BUDGET, SPARED_BYTES
from clawft.wire import sse
from clawft.wire.framing import one_line
from clawft.wire.jsonrpc import writing

KEEP_ALIVE_SECONDS = 15.0
MAX_WAITING = 4 * 1024 * 1024
"""Bytes waiting for a reader that stalls, above which further messages are left out."""
MAX_KEPT = 1_000
"""Events kept for a caller that comes back with Last-Event-ID."""
MAX_SHELVED = 100_000
"""Kept events of all streams; the oldest are dropped first."""
PIECE_BYTES = 64 * 1024
"""The bytes that a reader is given at once, which are not counted any more."""


class _Event:
    """One event of a stream; without its bytes once it was dropped."""

    __slots__ = ("begin", "framed", "kept", "number", "stream", "waiting")

    def __init__(
        self, stream: ReferenceType[EventStream], number: int, framed: bytes, begin: bytes = b"", *, kept: bool
    ) -> None:
        """`begin` is the frame's beginning for a large message: joining them would copy the message."""
        self.stream = stream
        self.number = number
        self.begin = begin
        self.framed = framed
        self.kept = kept
        self.waiting = False

    @property
    def size(self) -> int:
        return len(self.begin) + len(self.framed)

    def pieces(self) -> tuple[bytes, ...]:
        return (self.begin, self.framed, sse.END) if self.begin else (self.framed,)


class EventShelf:
    """All events in memory: many streams within their own bounds may still be too much together."""

    def __init__(self) -> None:
        self._events: deque[_Event] = deque()
        self.bytes = 0

    def add(self, event: _Event) -> None:
        self._events.append(event)
        self.bytes += event.size
        self._forget_dropped()
        if len(self._events) > MAX_SHELVED:
            self.evict_one()
        if self.bytes > SPARED_BYTES:
            MEMORY_BUDGET.enforce()

    def evict_one(self) -> bool:
        """Drop the oldest, but not the last one there is while it waits for its reader."""
        self._forget_dropped()
        if not self._events or (len(self._events) == 1 and self._events[0].waiting):
            return False
        oldest = self._events.popleft()
        self.drop(oldest)
        stream = oldest.stream()
        if stream is not None:
            stream.forget_dropped()
        return True

    def _forget_dropped(self) -> None:
        while self._events and not self._events[0].framed:
            self._events.popleft()

    def drop(self, event: _Event) -> None:
        self.bytes -= event.size
        event.begin = event.framed = b""


SHELF = EventShelf()
MEMORY_BUDGET.add_cache(SHELF)


class EventStream:
    """The messages of one HTTP answer, or of a session's own stream. An outlet for whoever runs the request."""

    over = False

    def __init__(self, name: str = "", *, primed: bool = False) -> None:
        """A named stream numbers and keeps its events, so that it can be resumed; `primed`: it begins with an id."""
        self._name = name
        self._me: ReferenceType[EventStream] = ref(self)
        self._primed = primed
        self._count = 0
        self._kept: deque[_Event] = deque()
        self._waiting: deque[_Event] = deque()
        self._waiting_bytes = 0
        self._wake: asyncio.Future[None] | None = None
        self._reader = 0
        """The number of the current, or last, reader."""
        self._reading = 0
        self._dismissing = False
        self.opened = False
        self.ended = False

    # ── the writing side ─────────────────────────────────────────────────────────────────────────────────────────────

    def send(self, message: bytes) -> None:
        self._open()
        self._push(message, essential=not writing.is_notification(message))

    def finish(self, message: bytes) -> None:
        """Send the last message, which is never left out."""
        self._push(message, essential=True)
        self.end()

    def hang_up(self, retry_ms: int) -> None:
        """Send the reader away; it comes back by GET after `retry_ms`. Only resumable streams can."""
        if not self._name:
            return
        self._open()
        self._put(_Event(self._me, 0, sse.retry(retry_ms), kept=False))
        self._dismissing = True
        self._stir()

    def end(self) -> None:
        self.ended = True
        self._stir()

    def _open(self) -> None:
        if self.opened:
            return
        self.opened = True
        if self._primed:
            self._count += 1
            self._put(_Event(self._me, self._count, sse.priming(self._id(self._count)), kept=False))

    def _push(self, message: bytes, essential: bool) -> None:
        if not essential and self._waiting_bytes > MAX_WAITING:
            return
        self._count += 1
        event = self._event(message, self._id(self._count))
        if self._name:
            self._keep(event)
        self._put(event)

    def _event(self, message: bytes, id: str) -> _Event:
        kept = bool(self._name)
        if len(message) <= PIECE_BYTES:
            return _Event(self._me, self._count, sse.frame(message, id), kept=kept)
        return _Event(self._me, self._count, one_line(message), sse.begin(id), kept=kept)

    def _keep(self, event: _Event) -> None:
        self._kept.append(event)
        if len(self._kept) > MAX_KEPT:
            oldest = self._kept.popleft()
            oldest.kept = False
            if not oldest.waiting:
                SHELF.drop(oldest)

    def forget_dropped(self) -> None:
        """Forget events that the shelf has dropped; these are always the oldest."""
        for events in (self._kept, self._waiting):
            while events and not events[0].framed:
                events.popleft()
        if not self._waiting:
            self._waiting_bytes = 0

    def _put(self, event: _Event) -> None:
        self._wait(event)
        SHELF.add(event)

    def _wait(self, event: _Event) -> None:
        event.waiting = True
        self._waiting.append(event)
        self._waiting_bytes += event.size
        self._stir()

    def _id(self, number: int) -> str:
        return f"{self._name}.{number}" if self._name else ""

    def _stir(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # ── the reading side ─────────────────────────────────────────────────────────────────────────────────────────────

    def enter(self) -> int:
        """Register a new reader. The one before gets nothing more."""
        self._reader += 1
        self._stir()
        return self._reader

    async def read(self, me: int, until: float = math.inf) -> AsyncIterator[bytes]:
        """Frames as they come, with keep-alives in between, until the stream ends or the reader is sent away.

        `until` this time at the latest: then it has to prove again who it is.
        """
        self._reading = me
        try:
            if not self._waiting:
                yield b""  # the head goes out at once: a caller that opens a stream waits for it
            while self._reader == me and time.time() < until:  # else it has gone, or what waits is for another reader
                if self._waiting:
                    for frames in self._next_frames():
                        yield frames
                elif self.ended or self._dismissing:
                    return
                elif not await self._woken(until):
                    yield sse.KEEP_ALIVE
        finally:
            if self._reading == me:
                self._reading = 0

    def resume(self, after: int) -> int:
        """A reader comes back: what it has not seen is sent again, what it has seen is not.

        Its old connection may look alive to us; whoever reads there gets nothing more.
        """
        me = self.enter()
        self._dismissing = False
        while self._waiting:
            self._next_frames()
        for event in self._kept:
            if event.number > after:
                self._wait(event)
        return me

    def is_told(self, upto: int) -> bool:
        """Whether it has ended with nothing after this event."""
        return self.ended and upto >= self._count

    def leave(self, me: int) -> None:
        """Note that this reader is gone; a resumable stream goes on without one, or with the one that has
        come since.
        """
        if self._reader == me:
            self._reader += 1
            self._stir()

    @property
    def busy(self) -> bool:
        """Whether somebody is reading now."""
        return self._reading == self._reader > 0

    def _next_frames(self) -> list[bytes]:
        """As much as is written at once; the rest stays on the shelf until its reader has taken this."""
        frames: list[bytes] = []
        size = 0
        while self._waiting and (not frames or size + self._waiting[0].size <= PIECE_BYTES):
            event = self._waiting.popleft()
            frames += event.pieces()
            size += event.size
            event.waiting = False
            if not event.kept:
                SHELF.drop(event)
        self._waiting_bytes = self._waiting_bytes - size if self._waiting else 0
        return frames if size > PIECE_BYTES else [b"".join(frames)]

    async def _woken(self, until: float) -> bool:
        """False if nothing happened for a while."""
        mine = self._wake = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(min(KEEP_ALIVE_SECONDS, until - time.time())):
                await mine
        except TimeoutError:
            return False
        finally:
            if self._wake is mine:  # else another reader waits now
                self._wake = None
        return True


def read_event_id(header: bytes) -> tuple[str, int]:
    """The stream and the number that a Last-Event-ID names."""
    name, dot, number = header.rpartition(b".")
    if not dot or not number.isdigit() or len(number) > 12:  # of bytes: in a text, ² is a digit
        raise BadParams("this Last-Event-ID is not one of ours")
    return name.decode("latin-1"), int(number)

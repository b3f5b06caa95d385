"""Event streams as a client reads them: events until the end, and the place to come back to."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING

from clawft.link.http_out.gzip_coding import decompressed_parts, is_x_gzip
from clawft.link.share.read_throttle import ReadThrottle
from clawft.link.share.turns import AwaitedTurn, LinkSender
from clawft.wire.sse import EventReader, SseEvent

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse

EVENTS = "text/event-stream"
STREAM_RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 30.0
_PIECE = 8 * 1024
MANY_LINES = 64
"""In one piece: comments, or events that are none, more likely than an answer."""
MAX_EVENT_ID = 4 * 1024
"""Of the place in a stream that a server gives us to come back to; one that is longer is none."""

log = logging.getLogger("clawft.link")


async def events_of(
    response: ClientResponse, limit: int, throttle: ReadThrottle, sender: LinkSender, *, skips: bool = False
) -> AsyncIterator[SseEvent]:
    """The events of a stream until it ends; one that breaks off simply ends too. Raises MessageTooLong, unless it skips
    what is too long, and what aiohttp raises for what cannot be read.
    """
    import aiohttp  # loaded already: the client exists

    from clawft.link.http_out.connect_failure import is_garbled  # as aiohttp

    reader = EventReader(limit, skips=skips)
    with AwaitedTurn(sender, response.close) as turn:
        try:
            async for chunk in decompressed_parts(response) if is_x_gzip(response) else response.content.iter_any():
                for piece in _pieces(chunk):
                    reading = _TimedReading(reader.feed(piece))
                    for event in reading:
                        turn.end()
                        yield event
                    await turn.wait(reader.held)
                    if _lines_in(piece) > MANY_LINES and (pause := reading.pause_after(len(piece), throttle)):
                        await asyncio.sleep(pause)
        except (aiohttp.ClientError, OSError) as broken:
            if is_garbled(broken):
                raise
            log.debug("a stream broke off: %s", broken)
        finally:
            reader.clear()  # what ends badly may be kept by its own traceback


class _TimedReading:
    """The events of one piece. What is done with each of them, and every wait between two, is not counted: a pause
    would be paid for with a longer one.
    """

    def __init__(self, events: Iterator[SseEvent]) -> None:
        self._events = events
        self._seconds = 0.0

    def __iter__(self) -> Iterator[SseEvent]:
        return self

    def __next__(self) -> SseEvent:
        began = time.monotonic()
        try:
            return next(self._events)
        finally:
            self._seconds += time.monotonic() - began

    def pause_after(self, size: int, throttle: ReadThrottle) -> float:
        return throttle.pause_after(size, time.monotonic() - self._seconds)


def _pieces(chunk: bytes) -> Iterable[bytes]:
    """Many short lines are looked at a few at a time; one long one stays whole."""
    if len(chunk) <= _PIECE or _lines_in(chunk) <= MANY_LINES:
        return (chunk,)
    return (chunk[start : start + _PIECE] for start in range(0, len(chunk), _PIECE))


def _lines_in(chunk: bytes) -> int:
    """About: either sign ends a line, and both together end one."""
    return chunk.count(b"\n") + chunk.count(b"\r")


class StreamPlace:
    """Where we are in a stream: the last event seen, and how long the server wants us to stay away."""

    def __init__(self) -> None:
        self.was_open = False
        """Whether there has been such a stream."""
        self.last_id = ""
        self.retry_seconds = STREAM_RETRY_SECONDS
        self.events = 0
        self.news = 0
        """The number of events that brought data, and not only a place to go on from."""

    def note(self, event: SseEvent) -> None:
        self.events += 1
        self.news += event.data != ""
        if event.id and event.id.isprintable() and len(event.id) <= MAX_EVENT_ID:  # a header has to carry it
            self.last_id = event.id
        if event.retry is not None:
            self.retry_seconds = event.retry / 1000

"""Event streams as a client reads them: events until the end, and the place to come back to."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from clawft.wire.sse import Event, EventReader

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse

EVENTS = "text/event-stream"
STREAM_RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 30.0
SHOWN_BAD_EVENTS = 5
"""Events of one link that are no messages, as far as each is told."""

log = logging.getLogger("clawft.link")


async def events_of(response: ClientResponse, limit: int) -> AsyncIterator[Event]:
    """The events of a stream until it ends; one that breaks off simply ends too."""
    import aiohttp  # loaded already: the client exists

    reader = EventReader(limit)
    try:
        async for chunk in response.content.iter_any():
            for event in reader.feed(chunk):
                yield event
    except (aiohttp.ClientError, OSError) as broken:
        log.debug("a stream broke off: %s", broken)


class Place:
    """Where we are in a stream: the last event seen, and how long the server wants us to stay away."""

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_seconds = STREAM_RETRY_SECONDS
        self.events = 0

    def note(self, event: Event) -> None:
        self.events += 1
        if event.id:
            self.last_id = event.id
        if event.retry is not None:
            self.retry_seconds = event.retry / 1000

"""The stream for what belongs to no request: held open where a handshake server offers one, and come back to."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from clawft.errors import LinkError, SessionLost, WireError
from clawft.link.http_out.events import MAX_RETRY_SECONDS, STREAM_RETRY_SECONDS, StreamPlace

LISTEN_SECONDS = 1.0
"""How long a handshake waits for the stream of unasked messages; it may still open later."""

log = logging.getLogger("clawft.link")

ReadOnce = Callable[[StreamPlace], Awaitable[bool]]


class NoticeStream:
    def __init__(self, url: str) -> None:
        self._url = url
        self._task: asyncio.Task[None] | None = None
        self.heard_of = asyncio.Event()
        """Set when the server has said whether there is such a stream."""
        self.broken = 0
        """The number of streams that ended soon, with nothing said."""

    async def start(self, once: ReadOnce, lose: Callable[[LinkError], None]) -> None:
        """A server may put its first question on that stream, and lose it if nobody is there yet.

        `once` reads the stream from a place to its end; False if the server offers none.
        """
        self._task = asyncio.get_running_loop().create_task(self._run(once, lose))
        try:
            async with asyncio.timeout(LISTEN_SECONDS):
                await self.heard_of.wait()
        except TimeoutError:
            log.debug("%s does not say whether it has a stream for us", self._url)

    async def _run(self, once: ReadOnce, lose: Callable[[LinkError], None]) -> None:
        place = StreamPlace()
        pause = STREAM_RETRY_SECONDS
        while True:
            before, opened = place.events, time.monotonic()
            try:
                offered = await once(place)
            except SessionLost as gone:
                lose(gone)
                return
            except (LinkError, WireError) as failed:
                log.debug("the stream of %s: %s", self._url, failed)
                offered = True
            if not offered:
                return
            has_held = place.events > before or time.monotonic() - opened >= MAX_RETRY_SECONDS
            self.broken += not has_held
            pause = place.retry_seconds if has_held else pause * 2
            pause = min(max(pause, STREAM_RETRY_SECONDS), MAX_RETRY_SECONDS)
            await asyncio.sleep(pause)

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

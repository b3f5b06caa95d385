"""Servers that are starting and lists that are changing: whoever asks what there is waits a moment for them.

Many clients ask for the tools once and never again; without the wait their first look would show nothing of a server
that was just started. A list that changes is waited for because a tool that switches others on is followed by them.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # which start through us
    from clawft.upstream.upstream import Upstream

WAIT_SECONDS = 2.0
"""How long a server is waited for after its start, and a list after it began to change."""
WAITED_CHANGES = 10
CHANGES_SECONDS = 60.0
"""At most `WAITED_CHANGES` changes of a server in this time are waited for: one that never stops delays nobody."""


class PendingServers:
    def __init__(self) -> None:
        self._starting: set[asyncio.Task[None]] = set()
        self._one_ready = asyncio.Event()
        self._readings: dict[asyncio.Task[object], float] = {}
        """Lists that are being read again, and until when each is waited for."""
        self._changes: dict[str, deque[float]] = {}
        """By server: when its last changes were that somebody waited for."""

    # ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, started: Upstream) -> None:
        """A server was started now. If its lists are remembered, nobody need wait for it."""
        if started.offer is None:
            starting = asyncio.get_running_loop().create_task(_first_try(started))
            self._starting.add(starting)
            starting.add_done_callback(self._started)

    def _started(self, starting: asyncio.Task[None]) -> None:
        self._starting.discard(starting)
        self._one_ready.set()
        self._one_ready = asyncio.Event()

    @property
    def any_starting(self) -> bool:
        return bool(self._starting)

    async def wait_for_next(self) -> None:
        """Return when one more server is ready, or has had its time."""
        await self._one_ready.wait()

    async def wait_for_all(self) -> None:
        """Return when no server is waited for any longer; however many are started, no later than for one of them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS):
                while self.any_starting:
                    await self.wait_for_next()

    # ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def add_lists(self, server: str, reading: asyncio.Task[object]) -> None:
        """The server says that its lists have changed; `reading` reads them again."""
        now, changes = time.monotonic(), self._changes.setdefault(server, deque(maxlen=WAITED_CHANGES))
        if len(changes) < WAITED_CHANGES or now - changes[0] >= CHANGES_SECONDS:
            changes.append(now)
            self._readings[reading] = now + WAIT_SECONDS
            reading.add_done_callback(lambda _: self._lists_read(reading, changes))

    def _lists_read(self, reading: asyncio.Task[object], changes: deque[float]) -> None:
        """After a reading that took too long, further changes of the server are not waited for for a while."""
        now = time.monotonic()
        if now > self._readings.pop(reading):
            changes.extend([now] * WAITED_CHANGES)

    @property
    def any_lists_changing(self) -> bool:
        return bool(self._readings) and time.monotonic() < max(self._readings.values())

    async def wait_for_lists(self) -> None:
        """Return when the lists that are being read now are there, or have had their time."""
        now = time.monotonic()
        waited = {reading: until for reading, until in self._readings.items() if until > now}
        if waited:
            await asyncio.wait(waited, timeout=max(waited.values()) - now)

    def close(self) -> None:
        for starting in self._starting:
            starting.cancel()


async def _first_try(started: Upstream) -> None:
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await started.tried.wait()
    except TimeoutError:
        pass  # it may still come up, but nobody waits

"""What is on its way: whoever asks what there is waits a moment for it.

For servers that were started and of which nothing is remembered: many clients look once and never again, and without
this the first look of all would show them nothing. And for lists that a server has changed: a tool that switches others
on is followed by their use.
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
"""How long after its start a server is waited for, and its lists by whoever asks; then what is known has to do."""
WAITED_CHANGES = 10
CHANGES_SECONDS = 60.0
"""So many changes of a server's lists are waited for in so long: one that changes them all the time holds up nobody."""


class Newcomers:
    def __init__(self) -> None:
        self._coming: set[asyncio.Task[None]] = set()
        self._fewer = asyncio.Event()
        self._changing: dict[asyncio.Task[object], float] = {}
        """Lists that are read, and until when each is waited for."""
        self._changes: dict[str, deque[float]] = {}
        """By server: when those were that somebody waits for."""

    def expect(self, started: Upstream) -> None:
        """It was started now; if its lists are remembered, nobody need wait for it."""
        if started.answers is None:
            coming = asyncio.get_running_loop().create_task(_comes(started))
            self._coming.add(coming)
            coming.add_done_callback(self._came)

    def _came(self, coming: asyncio.Task[None]) -> None:
        self._coming.discard(coming)
        self._fewer.set()
        self._fewer = asyncio.Event()

    @property
    def awaited(self) -> bool:
        """Is any of them worth waiting for?"""
        return bool(self._coming)

    async def next(self) -> None:
        """Back when one of them is there, or is not waited for any longer."""
        await self._fewer.wait()

    async def all(self) -> None:
        """Back when none of them is waited for any longer; where ever more of them come, after as long as for one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS):
                while self.awaited:
                    await self.next()

    def expect_lists(self, server: str, reading: asyncio.Task[object]) -> None:
        """It says that they have changed, and they are read again."""
        now, changes = time.monotonic(), self._changes.setdefault(server, deque(maxlen=WAITED_CHANGES))
        if len(changes) < WAITED_CHANGES or now - changes[0] >= CHANGES_SECONDS:
            changes.append(now)
            self._changing[reading] = now + WAIT_SECONDS
            reading.add_done_callback(lambda _: self._read(reading, changes))

    def _read(self, reading: asyncio.Task[object], changes: deque[float]) -> None:
        """One that was waited for in vain has had its time for a while."""
        now = time.monotonic()
        if now > self._changing.pop(reading):
            changes.extend([now] * WAITED_CHANGES)

    @property
    def changing(self) -> bool:
        """Are lists on their way that somebody should wait for?"""
        return bool(self._changing) and time.monotonic() < max(self._changing.values())

    async def lists(self) -> None:
        """Back when those are there that are on their way now, or are not waited for any longer."""
        now = time.monotonic()
        waited = {reading: until for reading, until in self._changing.items() if until > now}
        if waited:
            await asyncio.wait(waited, timeout=max(waited.values()) - now)

    def close(self) -> None:
        for coming in self._coming:
            coming.cancel()


async def _comes(started: Upstream) -> None:
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await started.tried.wait()
    except TimeoutError:
        pass  # it may still come, but nobody waits

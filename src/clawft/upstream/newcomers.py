"""Servers on their way: whoever asks what there is waits a moment for those of which nothing is remembered.

Many clients look once and never again; without this the first look of all would show them nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # which start through us
    from clawft.upstream.upstream import Upstream

WAIT_SECONDS = 2.0
"""How long after its start a server is waited for; then the others are shown without it, and news follow."""


class Newcomers:
    def __init__(self) -> None:
        self._coming: set[asyncio.Task[None]] = set()
        self._fewer = asyncio.Event()

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

    def close(self) -> None:
        for coming in self._coming:
            coming.cancel()


async def _comes(started: Upstream) -> None:
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await started.tried.wait()
    except TimeoutError:
        pass  # it may still come, but nobody waits

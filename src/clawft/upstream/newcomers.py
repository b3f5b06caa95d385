"""Servers on their way: whoever asks what there is waits a moment for those of which nothing is remembered.

Many clients look once and never again; without this the first look of all would show them nothing.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # which start through us
    from clawft.upstream.upstream import Upstream

WAIT_SECONDS = 2.0
"""How long after its start a server is waited for; then the others are shown without it, and news follow."""


class Newcomers:
    def __init__(self) -> None:
        self._coming: list[Upstream] = []

    def expect(self, started: Upstream) -> None:
        """It was started now; if its lists are remembered, nobody need wait for it."""
        if started.answers is None:
            self._coming.append(started)

    @property
    def awaited(self) -> bool:
        """Is any of them worth waiting for?"""
        if not self._coming:
            return False
        now = time.monotonic()
        self._coming = [one for one in self._coming if not one.tried.is_set() and _left(one, now) > 0]
        return bool(self._coming)

    async def next(self) -> None:
        """Back when one of them is there, or is not waited for any longer."""
        now = time.monotonic()
        tries = [asyncio.ensure_future(one.tried.wait()) for one in self._coming]
        try:
            await asyncio.wait(
                tries, timeout=min(_left(one, now) for one in self._coming), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for one in tries:
                one.cancel()


def _left(one: Upstream, now: float) -> float:
    return one.since + WAIT_SECONDS - now

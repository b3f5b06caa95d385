"""Callers who wait for a server that is on its way."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Awaited(Protocol):
    """The server that is waited for."""

    @property
    def is_coming(self) -> bool:
        """Whether there is any use in waiting on."""
        ...

    def want(self) -> None:
        """Somebody waits: come as soon as possible."""
        ...


class WaitingCallers:
    def __init__(self) -> None:
        self._count = 0
        self._changed = asyncio.Event()

    def __bool__(self) -> bool:
        """Whether anybody waits."""
        return self._count > 0

    def look_again(self) -> None:
        """Something has happened: all see whether their wait is over."""
        self._changed.set()

    async def wait_for(self, awaited: Awaited, seconds: float) -> None:
        """Return when it is there, or will not come. Raises TimeoutError."""
        self._count += 1
        try:
            async with asyncio.timeout(seconds):
                while awaited.is_coming:
                    awaited.want()
                    self._changed.clear()
                    await self._changed.wait()
        finally:
            self._count -= 1

"""How much of the servers' logs conversations want to hear, all of them together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from clawft.gateway.offer.registered_provider import RegisteredProvider
from clawft.provider.base import HeedingProvider
from clawft.wire.meta import RANK


class Loudness:
    """One level for each conversation that has set one; servers are told the lowest."""

    def __init__(self, providers: Iterable[RegisteredProvider]) -> None:
        self._providers = providers
        self._wanted: dict[object, str] = {}

    @property
    def lowest(self) -> str:
        return min(self._wanted.values(), key=RANK.__getitem__, default="")

    async def want(self, who: object, level: str) -> None:
        """Back when every server that is there has been told."""
        before = self.lowest
        self._wanted[who] = level
        if self.lowest != before:
            await self._tell()

    def leave(self, who: object) -> None:
        """Servers stay as loud as they are; the next who wants something sets it right."""
        self._wanted.pop(who, None)

    async def _tell(self) -> None:
        heeding = [known.provider for known in self._providers if isinstance(known.provider, HeedingProvider)]
        await asyncio.gather(*(provider.heed(self.lowest) for provider in heeding))

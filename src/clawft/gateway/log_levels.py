"""The log level that servers are asked for: the lowest that any conversation has set."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from clawft.gateway.offer.registered_provider import RegisteredProvider
from clawft.provider.base import LoggingProvider
from clawft.wire.meta import RANK


class LogLevels:
    """One level per conversation that has set one."""

    def __init__(self, providers: Iterable[RegisteredProvider]) -> None:
        self._providers = providers
        self._wanted: dict[object, str] = {}

    @property
    def lowest(self) -> str:
        return min(self._wanted.values(), key=RANK.__getitem__, default="")

    async def set(self, who: object, level: str) -> None:
        """Returns when every connected server has been told."""
        before = self.lowest
        self._wanted[who] = level
        if self.lowest != before:
            await self._tell()

    def remove(self, who: object) -> None:
        """The level of servers stays until the next conversation sets one."""
        self._wanted.pop(who, None)

    async def _tell(self) -> None:
        logging = [known.provider for known in self._providers if isinstance(known.provider, LoggingProvider)]
        await asyncio.gather(*(provider.set_log_level(self.lowest) for provider in logging))

"""Health checks of silent servers. A few misses in a row end the session."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from enum import Enum

from clawft.errors import ClawftError, LinkError, NotConnected, SessionLost
from clawft.store.concealed_secrets import conceal
from clawft.upstream.session.session import Session

HEALTH_SECONDS = 30.0
HEALTH_PATIENCE = 5.0
MAX_MISSES = 3
DOUBT_SECONDS = 5.0
"""The least pause between two checks, however many calls fail in a way that calls for one."""

log = logging.getLogger("clawft.upstream")


class HealthFinding(Enum):
    WELL = "well"
    RECOVERED = "recovered"
    MISSED = "missed"


class Health:
    """The findings of the checks of one server."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.failed_checks = 0
        self.last_healthy = time.monotonic()
        self.error = ""
        self._checked = time.monotonic()
        self._doubted: asyncio.Future[None] | None = None

    @property
    def is_lost(self) -> bool:
        return self.failed_checks >= MAX_MISSES

    def begin(self) -> None:
        """A new session has just shown that it is well."""
        self.failed_checks = 0
        self.last_healthy = time.monotonic()

    async def watch(
        self, session: Session, loss: asyncio.Future[LinkError | None], found: Callable[[HealthFinding], None]
    ) -> ClawftError | None:
        """Check until `loss` is done or too many checks in a row are missed; then the reason.

        `found` hears what each check has shown.
        """
        while True:
            await self._rest(loss)
            if loss.done():
                return loss.result()
            finding = await self.check(session)
            if loss.done():  # this very moment
                return loss.result()
            found(finding)
            if self.is_lost:
                return NotConnected(f"{MAX_MISSES} health checks in a row went unanswered")

    async def _rest(self, unless: asyncio.Future[LinkError | None]) -> None:
        """Wait until a check is due or wanted, or the session is lost."""
        self._doubted = asyncio.get_running_loop().create_future()
        await asyncio.wait({unless, self._doubted}, timeout=HEALTH_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    def doubt(self) -> None:
        """A call was refused in an odd way: check now, unless we have just done so."""
        doubted = self._doubted
        if doubted is not None and not doubted.done() and time.monotonic() - self._checked >= DOUBT_SECONDS:
            doubted.set_result(None)

    async def check(self, session: Session) -> HealthFinding:
        """Raises SessionLost where there is no use in asking again."""
        self._checked = time.monotonic()
        try:
            await session.check(HEALTH_PATIENCE)
        except SessionLost:
            raise
        except LinkError as missed:
            self.failed_checks += 1
            self.error = conceal(str(missed))
            log.warning("%s: health check %d missed: %s", self._server, self.failed_checks, missed)
            return HealthFinding.MISSED
        found = HealthFinding.RECOVERED if self.failed_checks else HealthFinding.WELL
        self.begin()
        return found

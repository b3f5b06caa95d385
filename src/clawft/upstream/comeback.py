"""What becomes of a server that was lost: the verdict, and how one that was given up is tried again.

Tried again is only what costs next to nothing: an address, where nothing is started, and a server that wanted a login
when it was sent none. Its state stays what it is until such a try has succeeded.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time

from msgspec import Struct

from clawft.errors import ClawftError, NeedsAuth
from clawft.upstream import backoff
from clawft.upstream.backoff import Backoff, is_final
from clawft.upstream.state import GIVEN_UP, ServerEvent, ServerState

WHEN_CALLED = math.inf
"""It is tried again for a call, and never by itself."""

log = logging.getLogger("clawft.upstream")


class Verdict(Struct, frozen=True):
    moves: tuple[ServerEvent, ...]
    wait: float | None
    """Before the next try; None if there is none."""


def judge(state: ServerState, error: ClawftError | OSError, losses: Backoff, *, is_address: bool) -> Verdict:
    """Where the end of a session, or of a try to have one, leaves a server."""
    if isinstance(error, NeedsAuth):
        return Verdict((ServerEvent.CHALLENGED,), WHEN_CALLED if error.passing else None)
    before = () if state in (ServerState.PENDING, ServerState.FAILED) else (ServerEvent.LOST,)
    wait = None if is_final(error) else losses.next_wait(time.monotonic())
    if wait is not None:
        return Verdict(before, wait)
    return Verdict((*before, ServerEvent.GAVE_UP), losses.next_probe() if is_address and not is_final(error) else None)


def note(what: str, before: ServerState, now: ServerState, verdict: Verdict) -> None:
    """In the log. That it still cannot be reached is no news."""
    if now is ServerState.FAILED:
        log.log(logging.DEBUG if before is ServerState.FAILED else logging.ERROR, "given up: %s", what)
    elif now is ServerState.PENDING:
        log.warning("%s; next try in %.1f s", what, verdict.wait)


class Comeback:
    """Of one server: is it being tried though it counts as given up, and may a call cause that now?"""

    def __init__(self) -> None:
        self.trying = False
        self._called = asyncio.Event()
        self._waits = False
        self._failed = time.monotonic()

    def call(self, *, at_once: bool = False) -> None:
        """Somebody wants it: it is tried, unless that has just been in vain."""
        if self._waits and (at_once or time.monotonic() - self._failed >= backoff.AGAIN_SECONDS):
            self.trying = True
            self._called.set()

    def tried(self) -> None:
        self.trying = False
        self._failed = time.monotonic()

    async def pause(self, state: ServerState, seconds: float) -> None:
        """Before the next try. A call shortens it for a server that was given up."""
        if state not in GIVEN_UP:
            await asyncio.sleep(seconds)
            return
        self._called.clear()
        self._waits = True
        try:
            async with asyncio.timeout(None if seconds == WHEN_CALLED else seconds):
                await self._called.wait()
        except TimeoutError:
            self.trying = True
        finally:
            self._waits = False

"""Decides about a server that was lost. Loaded with the first loss.

Tried again is only what costs next to nothing: an address, where nothing is started, and a server that wanted a login
when it was sent none. Its state stays what it is until such a try has succeeded.
"""

from __future__ import annotations

import logging
import time

from msgspec import Struct

from clawft.errors import ClawftError, NeedsAuth
from clawft.upstream.backoff import WHEN_CALLED, Backoff, is_final
from clawft.upstream.state import ServerEvent, ServerState

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


def note(name: str, why: str, before: ServerState, now: ServerState, verdict: Verdict) -> None:
    """Log what became of it. That it still cannot be reached is no news."""
    if now is ServerState.FAILED:
        level = logging.DEBUG if before is ServerState.FAILED else logging.ERROR
        log.log(level, "given up: %s: %s (weft servers reconnect %s)", name, why, name)
    elif now is ServerState.PENDING:
        log.warning("%s: %s; next try in %.1f s", name, why, verdict.wait)

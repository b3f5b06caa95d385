"""Whether a server is tried again, how often, and how long we wait before."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque

from clawft.errors import ConfigError, ProtocolFailure, SpawnFailed
from clawft.upstream.state import DOWN, ServerState

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 30.0
JITTER = 0.2
MAX_RESTARTS = 5
WINDOW_SECONDS = 60.0
FIRST_PROBE_SECONDS = 1.0
LONGEST_PROBE_SECONDS = 60.0
AGAIN_SECONDS = 5.0
"""After a failed try the next call may cause another, but not sooner."""
WHEN_CALLED = math.inf
"""Tried again for a call, and never by itself."""
NO_USE_TO_TRY_AGAIN = (SpawnFailed, ConfigError, ProtocolFailure)


def is_final(error: Exception) -> bool:
    """Whether the error would be the same the next time."""
    return isinstance(error, NO_USE_TO_TRY_AGAIN) and not (isinstance(error, SpawnFailed) and error.passing)


class Backoff:
    """Counts losses; None from `next_wait` means: give up."""

    def __init__(self, restarts: int = MAX_RESTARTS, window: float = WINDOW_SECONDS) -> None:
        self._restarts = restarts
        self._window = window
        self._losses: deque[float] = deque(maxlen=restarts + 1)
        self._probes = 0
        self.total = 0

    def next_wait(self, now: float) -> float | None:
        if self._probes:
            return None  # it was given up, and has not been back since
        self._losses.append(now)
        recent = [when for when in self._losses if now - when <= self._window]
        if len(recent) > self._restarts:
            return None
        self.total += 1
        return _about(min(FIRST_SECONDS * 2 ** (len(recent) - 1), LONGEST_SECONDS))

    def next_probe(self) -> float:
        """Of an address that was given up: nothing is started there, so looking again costs next to nothing."""
        self._probes += 1
        return _about(min(FIRST_PROBE_SECONDS * 2 ** min(self._probes - 1, 10), LONGEST_PROBE_SECONDS))

    def worked(self) -> None:
        """Note that it is back."""
        self._probes = 0

    def forgive(self) -> None:
        """The user, or a new configuration, says: try again."""
        self._losses.clear()
        self._probes = 0


class Comeback:
    """The comeback of one server: whether it is tried though it counts as given up, and whether a call may cause that
    now.
    """

    def __init__(self) -> None:
        self.trying = False
        self._called = asyncio.Event()
        self._waits = False
        self._failed = time.monotonic()

    def call(self, *, at_once: bool = False) -> None:
        """Somebody wants it: it is tried, unless that has just been in vain."""
        if self._waits and (at_once or time.monotonic() - self._failed >= AGAIN_SECONDS):
            self.trying = True
            self._called.set()

    def tried(self) -> None:
        self.trying = False
        self._failed = time.monotonic()

    async def pause(self, state: ServerState, seconds: float) -> None:
        """Before the next try. A call shortens it for a server that was given up."""
        if state not in DOWN:
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


def _about(seconds: float) -> float:
    from random import uniform  # only where something failed

    return seconds * uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads load, guards nothing

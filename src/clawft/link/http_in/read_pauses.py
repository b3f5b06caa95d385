"""Pauses reading from one connection for as long as there is any reason to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum


class PauseReason(Enum):
    """Why reading is paused. Each reason is withdrawn by whoever gave it; reading resumes with the last."""

    NOT_ADMITTED = "the connection waits for a place"
    OTHERS_FIRST = "other connections have their turn first"
    BODY_NOT_READ = "the application has not read the body so far"
    PIPELINED = "more was pipelined than is held here"


class ReadPauses:
    __slots__ = ("_now", "_transport", "paused_since", "reasons")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.reasons: set[PauseReason] = set()
        self.paused_since = 0.0
        """When reading was paused; 0 while it is not."""

    def attach(self, transport: asyncio.ReadTransport) -> None:
        self._transport = transport

    def pause(self, reason: PauseReason) -> None:
        self.reasons.add(reason)
        if not self.paused_since and not self._transport.is_closing():
            self.paused_since = self._now()
            self._transport.pause_reading()

    def pause_again(self) -> None:
        """For uvloop, which may read once more after the first `pause_reading`."""
        self._transport.pause_reading()

    def resume(self, reason: PauseReason) -> float:
        """Withdraw this reason. The seconds that reading was paused, if it resumes now."""
        self.reasons.discard(reason)
        return 0.0 if self.reasons or not self.paused_since else self._resume()

    def resume_all(self) -> None:
        self.reasons.clear()
        if self.paused_since:
            self._resume()

    def _resume(self) -> float:
        if self._transport.is_closing():
            return 0.0
        waited, self.paused_since = self._now() - self.paused_since, 0.0
        self._transport.resume_reading()
        return waited

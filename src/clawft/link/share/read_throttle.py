"""How much of our time servers may take with messages that nobody asked for: beyond its share a link is read slowly.

Answers to our requests are free. Notifications, questions, answers to nobody and lines that are no messages are not: a
server that sends them without end is read with pauses, in small pieces, and everybody else is served in between.
"""

from __future__ import annotations

import time
from typing import ClassVar

UNSOLICITED_SHARE = 0.3
"""Of our time: for one link alone, or divided among all that are throttled."""
THROTTLED_SECONDS = 1.0
"""How long after its pause a link still counts as throttled."""
BURST_SECONDS = 0.002
"""Work that one link may cause at once; unused time is saved up to this. Nobody else waits longer for it."""
_PER_MESSAGE = 10e-6
"""The cost of a message besides the time it is handled, wherever it goes."""
_PER_BYTE = 2e-9

_clock = time.monotonic


class ReadThrottle:
    """A token bucket for one link, in seconds of work."""

    throttled: ClassVar[dict[ReadThrottle, float]] = {}
    """Links beyond their share, and until when they count as such."""

    def __init__(self) -> None:
        self._left = BURST_SECONDS
        self._seen = _clock()
        self._share = UNSOLICITED_SHARE
        self.paused = 0.0
        """Seconds, all pauses together."""

    def pause_after(self, size: int, began: float) -> float:
        """Charge for a message of `size` bytes, handled since `began`; returns how long to read nothing, often 0."""
        now = _clock()
        saved = self._left + (now - self._seen) * self._share
        self._left = min(BURST_SECONDS, saved) - _PER_MESSAGE - size * _PER_BYTE - (now - began)
        self._seen = now
        if self._left >= 0:
            return 0.0
        self._share = UNSOLICITED_SHARE / self._count_throttled(now)
        pause = (BURST_SECONDS - self._left) / self._share
        self.paused += pause
        self.throttled[self] = now + pause + THROTTLED_SECONDS
        return pause

    def _count_throttled(self, now: float) -> int:
        """How many links are throttled, this one included."""
        throttled = self.throttled
        for over in [link for link, until in throttled.items() if until < now]:
            del throttled[over]
        throttled[self] = now
        return len(throttled)

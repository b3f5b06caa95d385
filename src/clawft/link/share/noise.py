"""What nobody waits for: a server may say it, but only a share of our time goes into hearing it.

Answers to what we asked cost nothing here. Notices, questions, answers to nobody and lines that are no messages do: a
server that sends them without end is read more slowly, in small pieces, and everybody else is served in between.
"""

from __future__ import annotations

import time
from typing import ClassVar

SHARE = 0.3
"""Of our time, for what servers say unasked: for one alone, or divided among those that say too much."""
NOISY_SECONDS = 1.0
"""For so long after its pause a link counts as one of them."""
AT_ONCE_SECONDS = 0.002
"""Of such work in one go, and what is saved up while there is none: others wait no longer than that."""
_PER_MESSAGE = 10e-6
"""What a message costs beside the time it is heard, wherever it goes."""
_PER_BYTE = 2e-9

_clock = time.monotonic


class Noise:
    """The account of one link, in seconds of work."""

    noisy: ClassVar[dict[Noise, float]] = {}
    """Links that said too much, and until when they count as such."""

    def __init__(self) -> None:
        self._left = AT_ONCE_SECONDS
        self._seen = _clock()
        self._share = SHARE
        self.paused = 0.0
        """Seconds, all pauses together."""

    def heard(self, size: int, began: float) -> float:
        """Something of `size` bytes was heard, and dealt with since `began`: how long not to listen now, often 0."""
        now = _clock()
        saved = self._left + (now - self._seen) * self._share
        self._left = min(AT_ONCE_SECONDS, saved) - _PER_MESSAGE - size * _PER_BYTE - (now - began)
        self._seen = now
        if self._left >= 0:
            return 0.0
        self._share = SHARE / self._count_noisy(now)
        pause = (AT_ONCE_SECONDS - self._left) / self._share
        self.paused += pause
        self.noisy[self] = now + pause + NOISY_SECONDS
        return pause

    def _count_noisy(self, now: float) -> int:
        """With this one."""
        noisy = self.noisy
        for quiet in [link for link, until in noisy.items() if until < now]:
            del noisy[quiet]
        noisy[self] = now
        return len(noisy)

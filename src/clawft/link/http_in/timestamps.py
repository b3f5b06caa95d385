"""When things last happened on one connection, for its timeouts. No timer runs per request."""

from __future__ import annotations

from clawft.link.http_in.head import Limits


class Timestamps:
    __slots__ = ("head_since", "heard", "idle_since", "served")

    def __init__(self, now: float) -> None:
        self.served = False
        """Whether any request was answered."""
        self.begin(now)

    def begin(self, now: float) -> None:
        """Start all times now."""
        self.heard = now
        self.head_since = now
        """When the head began that is being read; 0 if none is."""
        self.idle_since = now

    def done(self, now: float) -> None:
        """A request was answered, and the next may come."""
        self.served = True
        self.idle_since = now

    def idle_for(self, now: float) -> float:
        """Seconds without a whole request, where none is being answered."""
        return now - max(self.head_since or self.heard, self.idle_since)

    def is_late_head(self, now: float, limits: Limits) -> bool:
        return now - self.head_since > limits.head_seconds

    def is_late_body(self, now: float, began: float, limits: Limits) -> bool:
        """`began`: when the request did."""
        return now - self.heard > limits.body_idle_seconds or now - began > limits.body_seconds

    def is_idle(self, now: float, limits: Limits) -> bool:
        """Whether it has been idle for too long; one that has sent no request yet has less time."""
        return now - self.idle_since > (limits.keep_alive_seconds if self.served else limits.head_seconds)

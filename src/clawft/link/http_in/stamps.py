"""What a client has let us wait for. Time is not kept per request: stamps left behind tell, when somebody looks."""

from __future__ import annotations

from clawft.link.http_in.head import Limits


class Stamps:
    """When what happened last on one connection."""

    __slots__ = ("head_since", "heard", "idle_since", "served")

    def __init__(self, now: float) -> None:
        self.served = False
        """It has got an answer."""
        self.begin(now)

    def begin(self, now: float) -> None:
        """From now on its time counts."""
        self.heard = now
        self.head_since = now
        """0: no head has begun that is not whole."""
        self.idle_since = now

    def done(self, now: float) -> None:
        """A request is answered, and the next may come."""
        self.served = True
        self.idle_since = now

    def idle_for(self, now: float) -> float:
        """Seconds without a whole request, where none is being answered."""
        return now - max(self.head_since or self.heard, self.idle_since)

    def is_late_head(self, now: float, limits: Limits) -> bool:
        return now - self.head_since > limits.head_seconds

    def is_late_body(self, now: float, began: float, limits: Limits) -> bool:
        """Of a request that began then."""
        return now - self.heard > limits.body_idle_seconds or now - began > limits.body_seconds

    def is_idle(self, now: float, limits: Limits) -> bool:
        """For longer than a connection is kept; one that has never asked is kept less long."""
        return now - self.idle_since > (limits.keep_alive_seconds if self.served else limits.head_seconds)

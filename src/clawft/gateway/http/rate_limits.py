"""Limits per caller: requests at once, requests a second, wrong tokens.

Unless a rate is configured the user of this machine has no limits, and their requests are not counted.
"""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from clawft.gateway.http.access import AccessRefusal
from clawft.link.client_networks import network_of
from clawft.model import LOCAL

MAX_IN_FLIGHT = 256
"""Requests and open streams of one person with a token of an issuer."""
MAX_BUCKETS = 4_096
WRONG_TOKENS = 50
"""So many wrong tokens of one address are answered as they come, then only `WRONG_TOKENS_A_SECOND`."""
WRONG_TOKENS_A_SECOND = 5
TELL_SECONDS = 60
"""How often the log tells that somebody is guessing."""

log = logging.getLogger("clawft.http")


class TokenBuckets:
    """A token bucket for each name: `burst` at once, then `rate` a second. The longest unused is forgotten."""

    def __init__(self, rate: float, burst: float, now: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._now = now
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, count: int = 1) -> float:
        """Take `count`: 0 if at least one was there (the rest is owed), else the seconds until there is one."""
        now = self._now()
        left, since = self._known.get(name, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        if left < 1:
            return (1 - left) / self._rate
        self._known[name] = (left - count, now)
        self._known.move_to_end(name)
        if len(self._known) > MAX_BUCKETS:
            self._known.popitem(last=False)
        return 0.0


class RateLimits:
    def __init__(self, rate: float = 0) -> None:
        """`rate`: requests a second of one caller; 0 means as many as it likes."""
        self._rate = TokenBuckets(rate, max(rate, 1)) if rate else None
        self._wrong = TokenBuckets(WRONG_TOKENS_A_SECOND, WRONG_TOKENS)
        self._told = TokenBuckets(1 / TELL_SECONDS, 1)
        self._inside: dict[str, int] = {}

    def is_unlimited(self, principal: str) -> bool:
        """Whether the requests of this caller need not be counted."""
        return self._rate is None and principal == LOCAL

    def enter(self, principal: str, count: int = 1) -> AccessRefusal | None:
        """Count `count` requests until `leave`; the refusal if they are too many."""
        inside = self._inside.get(principal, 0)
        if inside + count > MAX_IN_FLIGHT and principal != LOCAL:
            return AccessRefusal(
                429, f"busy: {inside} of your requests are in flight; wait for some answers", retry_s=1
            )
        wait = self._rate.take(principal, count) if self._rate is not None else 0
        if wait:
            return AccessRefusal(429, "too many requests a second (gateway.rate)", retry_s=math.ceil(wait))
        self._inside[principal] = inside + count
        return None

    def leave(self, principal: str, count: int = 1) -> None:
        inside = self._inside.pop(principal) - count
        if inside:
            self._inside[principal] = inside

    def limit_wrong_tokens(self, address: str, refusal: AccessRefusal) -> AccessRefusal:
        """The refusal of a wrong token, or a 429 if too many come from this address. A right token never comes here."""
        wait = self._wrong.take(network_of(address))
        if not wait:
            return refusal
        if not self._told.take("all"):
            log.warning("wrong tokens come from %s, and are answered more slowly: somebody may be guessing", address)
        return AccessRefusal(429, "too many wrong tokens from this address", refusal.challenge, math.ceil(wait))

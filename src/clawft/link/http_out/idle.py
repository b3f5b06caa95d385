"""How long a connection is kept while nothing is asked: less than its server keeps it, so that no call meets its end.

A call that was sent as the connection ended may have been carried out, and is not sent again: it is lost.
"""

from __future__ import annotations

import math
import re

SILENT_SECONDS = 5.0
"""How long servers wait for the next request, if they do not say it: none that is much used waits less."""
LONGEST_SECONDS = 60.0
SHORTEST_SECONDS = 0.5
"""A server that was seen to wait less has not come to the end of its patience, but was stopped."""
NONE_SECONDS = 60.0
"""How long each request has a connection of its own, once one met the end of another: it may happen again."""
SOON_SECONDS = 2.0
"""A request that meets the end of its connection is lost so soon: what is lost later was under way."""
_MARGIN_SECONDS = 1.0

_TOLD = re.compile(r"\btimeout\s*=\s*(\d{1,9})\b", re.IGNORECASE)


class Idling:
    """Of the connections to one server, by what it says and by when it was seen to close one."""

    def __init__(self) -> None:
        self._told = SILENT_SECONDS
        self._seen = self._met = math.inf
        self._none_until = 0.0

    def seconds(self, now: float) -> float:
        if now < self._none_until:
            return 0.0
        return min(well_before(min(self._told, self._seen, self._met)), LONGEST_SECONDS)

    def hear(self, keep_alive: str) -> None:
        """The header of that name."""
        told = _TOLD.search(keep_alive)
        if told is not None:
            self._told = float(told[1])

    def see_end(self, idle: float) -> None:
        """A connection on which nothing was asked for so long is closed."""
        if idle >= SHORTEST_SECONDS:
            self._seen = min(self._seen, idle)

    def see_alive(self, idle: float) -> None:
        """One is not: if another was closed sooner, it was for another reason."""
        if idle > self._seen:
            self._seen = math.inf

    def meet_end(self, idle: float, now: float) -> None:
        """A request went out after so long on one that looked as if it was there, and it was not."""
        self._none_until = now + NONE_SECONDS
        if idle >= SHORTEST_SECONDS:
            self._met = min(self._met, idle)


def well_before(seconds: float) -> float:
    return max(seconds - _MARGIN_SECONDS, seconds / 2)

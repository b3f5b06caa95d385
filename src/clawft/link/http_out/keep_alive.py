"""How long an idle connection is reused: less long than its server keeps it open, so that no call is lost with it.

A call that was sent while the server closed the connection may have been carried out, so it is not sent again.
"""

from __future__ import annotations

import math
import re

SILENT_SECONDS = 5.0
"""How long servers keep an idle connection if they do not say so: none that is much used keeps it for less."""
LONGEST_SECONDS = 60.0
SHORTEST_SECONDS = 0.5
"""A connection that was closed sooner was not idle for too long: its server was stopped."""
NONE_SECONDS = 60.0
"""How long each request has a new connection after one was lost: it may happen again."""
SOON_SECONDS = 2.0
"""A request that is lost later than this was not lost because the connection was just being closed."""
_MARGIN_SECONDS = 1.0

_TOLD = re.compile(r"\btimeout\s*=\s*(\d{1,9})\b", re.IGNORECASE)


class KeepAlive:
    """Learns how long one server keeps idle connections: from its headers, and from when it closes them."""

    def __init__(self) -> None:
        self._told = SILENT_SECONDS
        self._seen = self._met = math.inf
        self._none_until = 0.0

    def seconds(self, now: float) -> float:
        if now < self._none_until:
            return 0.0
        return min(well_before(min(self._told, self._seen, self._met)), LONGEST_SECONDS)

    def read_header(self, keep_alive: str) -> None:
        """The header `Keep-Alive` of an answer."""
        found = _TOLD.search(keep_alive)
        if found is not None:
            self._told = float(found[1])

    def note_closed(self, idle: float) -> None:
        """A connection was found closed after so many idle seconds."""
        if idle >= SHORTEST_SECONDS:
            self._seen = min(self._seen, idle)

    def note_open(self, idle: float) -> None:
        """A connection was found open: if another was closed sooner, it was for another reason."""
        if idle > self._seen:
            self._seen = math.inf

    def note_lost_request(self, idle: float, now: float) -> None:
        """A request was sent on a connection that had been idle for so long, and was closed just then."""
        self._none_until = now + NONE_SECONDS
        if idle >= SHORTEST_SECONDS:
            self._met = min(self._met, idle)


def well_before(seconds: float) -> float:
    return max(seconds - _MARGIN_SECONDS, seconds / 2)

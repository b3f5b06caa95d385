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
_MARGIN_SECONDS = 1.0

_TOLD = re.compile(r"\btimeout\s*=\s*(\d{1,9})\b", re.IGNORECASE)


class Idling:
    """Of the connections to one server, by what it says and by when it was seen to close one."""

    def __init__(self) -> None:
        self._told = SILENT_SECONDS
        self._seen = math.inf

    @property
    def seconds(self) -> float:
        return min(well_before(min(self._told, self._seen)), LONGEST_SECONDS)

    def keep_none(self) -> None:
        """It closes them without a word, and as fast as we send."""
        self._seen = 0.0

    def hear(self, keep_alive: str) -> None:
        """The header of that name."""
        told = _TOLD.search(keep_alive)
        if told is not None:
            self._told = float(told[1])

    def see_end(self, idle: float) -> None:
        """The server has closed a connection on which nothing was asked for so long."""
        self._seen = min(self._seen, max(idle, SHORTEST_SECONDS))


def well_before(seconds: float) -> float:
    return max(seconds - _MARGIN_SECONDS, seconds / 2)

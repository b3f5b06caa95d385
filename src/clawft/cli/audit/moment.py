"""A moment as somebody types it. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AGO = re.compile(r"(\d{1,6})([smhd])")


def moment(text: str, now: float) -> float:
    """`10m` ago, or a date, in UTC if it does not say. Raises ValueError."""
    if ago := _AGO.fullmatch(text):
        return now - int(ago[1]) * _SECONDS[ago[2]]
    when = datetime.fromisoformat(text)
    return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()

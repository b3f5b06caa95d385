"""When a request to a model is worth another try, and how long to wait before it. Pure."""

from __future__ import annotations

MAX_TRIES = 5
LONGEST_WAIT = 60.0
"""A server that asks for more is not waited for: the user is told."""

_FIRST, _LONGEST = 0.5, 8.0
_TIMEOUT, _CONFLICT, _TOO_MANY, _OURS = 408, 409, 429, 500


def is_passing(status: int) -> bool:
    """Whether this may be over in a moment: too many requests, an overloaded or broken server (529 is one of them)."""
    return status in (_TIMEOUT, _CONFLICT, _TOO_MANY) or status >= _OURS


def pause(attempt: int, told: float | None, jitter: float) -> float | None:
    """Seconds before the next try, `attempt` counting from 1; None if there should be none. `jitter` is 0 to 1."""
    if attempt >= MAX_TRIES or (told is not None and told > LONGEST_WAIT):
        return None
    if told is not None:
        return max(0.0, told)
    return min(_LONGEST, _FIRST * 2 ** (attempt - 1)) * (1 - jitter / 4)


def read_wait(headers: dict[str, str], now: float) -> float | None:
    """Seconds the server asked for: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
    return _until(headers.get("retry-after", ""), now)


def _until(date: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime  # only for servers that name a date

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None

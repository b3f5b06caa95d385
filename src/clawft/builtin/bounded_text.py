"""The text of what was fetched, as much of it as our memory takes: it is there several times on its way out. Pure."""

import sys

from clawft.link.http_out.fetch import FetchedAnswer
from clawft.model.encoded import encoded

MAX_TEXT_BYTES = 8_000_000
"""Of one text, as it is in memory or as JSON, whichever is more."""

_PIECE = 65_536
_WIDEST = 6
"""Bytes of a character in JSON."""


def bounded_text(found: FetchedAnswer) -> tuple[str, bool]:
    """As much of its text as there is room for, and whether some of it is missing."""
    whole = found.text()
    text = fitting(whole, MAX_TEXT_BYTES)
    return text, found.truncated or len(text) < len(whole)


def fitting(text: str, most: int) -> str:
    """As much of it as takes so many bytes: a single odd character makes all of them four times as wide."""
    if len(text) * _WIDEST <= most:
        return text
    width = sys.getsizeof(text) // len(text)
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE]
        most -= max(len(encoded(piece)), len(piece) * width)
        if most < 0:
            return text[:at]
    return text

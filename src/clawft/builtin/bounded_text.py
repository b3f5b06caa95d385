"""Cuts fetched text to what memory allows, as several copies of it exist on its way out. Pure."""

import sys

from clawft.link.http_out.fetch import FetchedAnswer
from clawft.model.encoded import encoded

MAX_TEXT_BYTES = 8_000_000
"""Bytes of one text in memory or as JSON, whichever is more."""

_PIECE = 65_536
_WIDEST = 6
"""The most bytes of one character in JSON."""


def bounded_text(found: FetchedAnswer) -> tuple[str, bool]:
    """As much of the fetched text as there is room for, and whether some of it is missing."""
    whole = found.text()
    text = fitting(whole, MAX_TEXT_BYTES)
    return text, found.truncated or len(text) < len(whole)


def fitting(text: str, most: int) -> str:
    """The beginning of the text that takes at most so many bytes: one wide character makes all four times as wide."""
    if len(text) * _WIDEST <= most:
        return text
    width = sys.getsizeof(text) // len(text)
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE]
        most -= max(len(encoded(piece)), len(piece) * width)
        if most < 0:
            return text[:at]
    return text

"""Rows of text as aligned lines of a given width. Pure.

Every column but the last is as wide as its widest cell, within reason; the last takes what is left. A name that would
take the room of all others stands above its row, on as many lines as it needs. Without a width (a pipe) nothing is cut.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest

GAP = 2
SMALLEST_LAST = 16
"""Columns the last cell gets at least; the ones before it give way."""
SHARE_OF_LAST = 3
"""One column in so many is the last cell's before names take it: a few words of a description tell little."""
SMALLEST_CELL = 6
WORD = 12
"""Columns in which any word stands whole: `untrusted`, `command line`."""
SMALLEST_NAME = 16
"""Columns of a name that the rest of its row stands beside in any case."""

Row = Sequence[str]

_EMOJI = "\ufe0f"
"""Makes a picture of the letter before it, which is twice as wide then."""


def lay_out(head: Row, rows: Sequence[Row], width: int, *, wrap: bool = False) -> list[str]:
    """Lines no wider than `width`; any length if it is 0."""
    table = [head, *rows] if head else list(rows)
    if not table:
        return []
    widths = _widths(table, width)
    return [line for row in table for line in _lines(row, widths, width, wrap=wrap)]


def fits(head: Row, rows: Sequence[Row], width: int) -> bool:
    """Whether there is room for all columns, the last included."""
    widths = _widths([head, *rows] if head else list(rows), width)
    last = max(map(cells, (row[-1] for row in (head, *rows) if row)))
    return not width or (widths[-1] >= min(SMALLEST_LAST, last) and sum(widths) + GAP * (len(widths) - 1) <= width)


def _widths(table: Sequence[Row], width: int) -> list[int]:
    """Widest cells; where they do not fit, the widest of the first columns give way."""
    widths = [max(map(cells, column)) for column in zip_longest(*table, fillvalue="")]
    if not width:
        return widths
    room = width - GAP * (len(widths) - 1)
    first, last = widths[:-1], widths[-1]
    if first:
        words = sum(min(size, WORD) for size in first[1:])
        beside = words + min(max(SMALLEST_LAST, width // SHARE_OF_LAST), last)
        first[0] = _for_names([cells(row[0]) for row in table if row], room - beside)
    for _ in range(sum(first) + min(SMALLEST_LAST, last) - room):
        _narrow(first)
    _share(first, last, room)
    return [*first, max(1, min(last, room - sum(first)))]


def _for_names(names: Sequence[int], room: int) -> int:
    """Columns of the first, which holds names to type: of the widest, or the widest that leaves the others room."""
    widest = max(names)
    return widest if widest <= room else max((name for name in names if name <= max(room, SMALLEST_NAME)), default=1)


def _narrow(first: list[int]) -> None:
    """One column less for the widest of those beside the names."""
    others = [at for at in range(1, len(first)) if first[at] > SMALLEST_CELL]
    if others:
        first[max(others, key=first.__getitem__)] -= 1


def _share(first: list[int], last: int, room: int) -> None:
    """No column beside the names takes more than the last one gets, while that lacks some: one long cell may."""
    while len(first) > 1 and (widest := max(first[1:])) > max(WORD, room - sum(first)) and last > room - sum(first):
        first[first.index(widest, 1)] -= 1


def _lines(row: Row, widths: Sequence[int], width: int, *, wrap: bool) -> Iterator[str]:
    *first, last = [*row, *[""] * (len(widths) - len(row))]
    if first and cells(first[0]) > widths[0]:
        yield from _pieces(first[0], width)  # whole: it may have to be typed
        first[0] = ""
    lead = [padded(cut(cell, size), size) for cell, size in zip(first, widths, strict=False)]
    rest = wrapped(last, widths[-1]) if wrap else [cut(last, widths[-1])]
    gap = " " * GAP
    yield gap.join([*lead, rest[0]]).rstrip()
    below = " " * (sum(widths[:-1]) + GAP * len(first))
    yield from (below + line for line in rest[1:])


def padded(text: str, size: int) -> str:
    """At least `size` columns."""
    return text + " " * (size - cells(text))


def cut(text: str, size: int) -> str:
    """At most `size` columns, with … where something is missing."""
    if cells(text) <= size:
        return text
    kept, used = "", 0
    for letter in text:
        used += cells(letter)
        if used > size - 1:
            break
        kept += letter
    return kept.rstrip() + "…"


def wrapped(text: str, size: int) -> list[str]:
    """Broken between words; a word that is too long is broken inside. Line ends of the text stay."""
    return [line for part in text.split("\n") for line in _wrapped_line(part, size)] or [""]


def _wrapped_line(text: str, size: int) -> Iterator[str]:
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cells(joined) <= size:
            line = joined
            continue
        if line:
            yield line
        *full, line = _pieces(word, size)
        yield from full
    yield line


def _pieces(word: str, size: int) -> list[str]:
    pieces = [""]
    for letter in word:
        if pieces[-1] and cells(pieces[-1]) + cells(letter) > size:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def cells(text: str) -> int:
    """Columns a terminal needs for this text."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(letter) for letter in text)


def _cells_of(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me") and letter != _EMOJI:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1

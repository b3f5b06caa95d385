"""How a text looks in which characters that a person cannot see are spelled out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from clawft.wire.unseen import (
    LONGEST_UNIT,
    NOTHING,
    RAW,
    Spelling,
    code_after,
    code_before,
    code_of,
    depends_on_neighbours,
    in_json,
    is_unseen,
)

MAX_SPELLED = 10_000
"""Hidden characters of one message that are spelled out: nobody looks at more of them."""
MAX_JUDGED = 100_000
"""Rows of one message that are looked at one by one, hidden or not: searches have told nearly all others apart."""
LONG_ROW = 32
"""Hidden characters in a row that are spelled out; of a longer row half as many, and how many more there are."""
INSTEAD = "?"
"""Stands for each row when enough are spelled out: no longer than what was there, so that no message grows by it."""


class RevealedText:
    """One text, taken piece by piece, in the words that show what is hidden in it."""

    def __init__(self, spelling: Spelling) -> None:
        self._one = spelling.one
        self._row = spelling.row
        self._escapes = spelling.escapes
        self._left = MAX_SPELLED
        self._unjudged = MAX_JUDGED
        self._more = 0
        """Of a long row that may not be over yet."""

    @property
    def is_open(self) -> bool:
        """A long row may go on with the next piece."""
        return self._more > 0

    def is_clean(self, piece: str) -> bool:
        return not self._more and self._row.search(piece) is None

    def piece(self, text: str) -> str:
        if (self._left > 0 and self._unjudged > 0) or self._more:
            return "".join(self._parts(text))
        return self._row.sub(_instead, re.sub(f"[{RAW}]+", INSTEAD, text))

    def end(self) -> str:
        more, self._more = self._more, 0
        return f"⟨and {more} more hidden⟩" if more else ""

    def _parts(self, text: str) -> Iterator[str]:
        at = 0
        for row in self._row.finditer(text):
            start, end = row.start() + _backslashes(row[0]), row.end()
            if self._more and start == at:
                self._more += len(self._units(text, start, end))
            else:
                yield self.end() + text[at:start]
                yield self._spelled(text, start, end)
            at = end
        if at < len(text):
            yield self.end() + text[at:]

    def _units(self, text: str, start: int, end: int) -> Sequence[str]:
        row = text[start:end]
        return self._one.findall(row) if "\\" in row else row

    def _spelled(self, text: str, start: int, end: int) -> str:
        if end - start <= LONGEST_UNIT and (alone := _spelled_alone(text[start:end])):
            self._unjudged -= 1
            self._left -= 1
            return alone
        units = self._units(text, start, end)
        told = units if len(units) <= LONG_ROW else units[: LONG_ROW // 2]
        before = code_before(text, start, escapes=self._escapes)
        after = code_after(text, end, escapes=self._escapes) if told is units else NOTHING
        codes = [before, *map(code_of, told), after]
        shown = [
            _as_code_point(code) if is_unseen(code, *beside) else unit
            for unit, code, *beside in zip(told, codes[1:], codes, codes[2:], strict=False)
        ]
        self._more = len(units) - len(told)
        self._unjudged -= 1
        self._left -= sum(map(str.__ne__, shown, told))
        return "".join(shown)


@lru_cache(maxsize=1_024)
def _spelled_alone(unit: str) -> str:
    """One that is unseen wherever it stands, as nearly all are; "" for others and for more than one."""
    code = code_of(unit) if len(unit) == 1 or in_json().one.fullmatch(unit) else 0
    return "" if not code or depends_on_neighbours(code) else _as_code_point(code)


def _as_code_point(code: int) -> str:
    return f"⟨U+{code:04X}⟩"


def _instead(row: re.Match[str]) -> str:
    return row[0][: _backslashes(row[0])] + INSTEAD


def _backslashes(row: str) -> int:
    """The number of backslashes before the escape that begins it; they are escaped themselves."""
    return len(row) - len(row.lstrip("\\")) - 1 if row[0] == "\\" else 0

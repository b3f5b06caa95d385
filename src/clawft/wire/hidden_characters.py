"""Which characters a person cannot see, and how a text with such looks when they are spelled out. Pure.

JSON has two spellings for each character, itself and `\\uXXXX`. They are the same here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from msgspec import Struct

MAX_SPELLED = 10_000
"""Hidden characters of one message that are spelled out: nobody looks at more of them."""
LONG_ROW = 32
"""Hidden characters in a row that are spelled out; of a longer row half as many, and how many more there are."""
INSTEAD = "?"
"""Stands for each row when enough are spelled out: no longer than what was there, so that no message grows by it."""

_ALWAYS = (
    "\x7f-\x9f\xad\u034f\u061c"  # delete, C1 controls, soft hyphen, grapheme joiner, Arabic letter mark
    "\u115f\u1160\u3164\uffa0\u17b4\u17b5\u180b-\u180f"  # Hangul fillers, Khmer vowels, Mongolian selectors
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # zero width space, direction marks, bidi, invisible operators
    "\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # byte order mark, format controls
    "\U000e0000-\U000e0fff"  # tags, supplementary variation selectors
)
_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f"
"""All but tab and line ends. JSON can spell them only as escapes."""
_JOINERS = "\u200c\u200d"
"""Hidden, unless they stand between two characters that can be joined, as in emoji and some scripts."""
_SELECTORS = "\ufe00-\ufe0f"
"""Hidden behind one another: a single one says how a character is drawn, more of them carry bits."""

_RAW = f"{_ALWAYS}{_JOINERS}{_SELECTORS}"
_ESCAPED_JOINER = r"u200[cdCD]"
_ESCAPED_SELECTOR = r"u[fF][eE]0[0-9a-fA-F]"
_ESCAPED_ALWAYS = (
    r"(?:[bf]|u(?:00(?:0[0-8bBcCeEfF]|1[0-9a-fA-F]|7[fF]|[89][0-9a-fA-F]|[aA][dD])|034[fF]|061[cC]"
    r"|11(?:5[fF]|60)|3164|[fF]{2}[aA]0|17[bB][45]|180[b-fB-F]|20(?:0[bBeEfF]|2[a-eA-E]|6[0-9a-fA-F])"
    r"|[fF][eE][fF]{2}|[fF]{3}[9abAB]|[dD]82[fF]\\u[dD][cC][aA][0-3]|[dD]834\\u[dD]{2}7[3-9aA]"
    r"|[dD][bB]4[0-3]\\u[dD][c-fC-F][0-9a-fA-F]{2}))"
)
"""What stands behind the backslash."""
_ESCAPED = rf"\\(?:{_ESCAPED_ALWAYS}|{_ESCAPED_JOINER}|{_ESCAPED_SELECTOR})"
_ONE = rf"(?:[{_RAW}]|{_ESCAPED})"
_SOME = rf"(?:[{_RAW}]++|{_ESCAPED})"
"""A few. Repeated without `*+`: nothing behind takes any back, and Python 3.11.2 reads such groups wrong."""
_ANY = r"(?s:\\u[0-9a-fA-F]{4}|\\.|.)"


class Spelling(Struct, frozen=True):
    """How texts of one kind spell what may be hidden: one of them, and a row."""

    one: re.Pattern[str]
    row: re.Pattern[str]


@cache
def in_json() -> Spelling:
    """On first use: most messages are plain ASCII."""
    return Spelling(re.compile(_ONE), re.compile(rf"{_first()}{_SOME}*"))


def _first() -> str:
    """Of a row in JSON. One class comes first, as that is found fast; then what is surely no row is left alone.

    What follows an escaped backslash is no escape.
    """
    own = rf"[^\x00-\x7f{_ALWAYS}{_JOINERS}]"
    escaped = rf"\\(?!u00[0-7]|{_ESCAPED_ALWAYS}|{_ESCAPED_JOINER})u[0-9a-fA-F]{{4}}"
    joined = rf"(?={own}|{escaped})"
    joiner = rf"(?:[{_JOINERS}]|\\{_ESCAPED_JOINER})"
    not_last = rf"(?=(?!{joiner}{joined}){_ONE})"
    return (
        rf"[{_RAW}\\](?:(?<=[{_ALWAYS}])|(?<=[{_SELECTORS}]){not_last}"
        rf"|(?<=[{_JOINERS}])(?!(?:(?<={own}.)|(?<={escaped}.)){joined})"
        rf"|(?<=\\)(?<!\\\\)(?:\\\\)*+(?:{_ESCAPED_ALWAYS}|{_ESCAPED_SELECTOR}{not_last}"
        rf"|{_ESCAPED_JOINER}(?!(?:(?<={own}.{{6}})|(?<={escaped}.{{6}})){joined})))"
    )


@cache
def in_text() -> Spelling:
    one = f"[{_CONTROLS}{_RAW}]"
    return Spelling(re.compile(one), re.compile(f"{one}++"))


@cache
def chain() -> re.Pattern[str]:
    """Rows in JSON with only one other character between them, and behind: each is judged by its neighbours."""
    return re.compile(rf"{_SOME}*{_ANY}?(?:{_SOME}+{_ANY}?)*")


class RevealedText:
    """One text, taken piece by piece, in the words that show what is hidden in it."""

    def __init__(self, spelling: Spelling) -> None:
        self._one = spelling.one
        self._row = spelling.row
        self._left = MAX_SPELLED
        self._more = 0
        """Of a long row that may not be over yet."""

    @property
    def is_open(self) -> bool:
        """A long row may go on with the next piece."""
        return self._more > 0

    def is_clean(self, piece: str) -> bool:
        return not self._more and self._row.search(piece) is None

    def piece(self, text: str) -> str:
        if self._left > 0 or self._more:
            return "".join(self._parts(text))
        return self._row.sub(_instead, re.sub(f"[{_RAW}]+", INSTEAD, text))

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
        units = self._units(text, start, end)
        told = units if len(units) <= LONG_ROW else units[: LONG_ROW // 2]
        codes = [_before(text, start), *map(_code, told), _after(text, end) if told is units else _NOTHING]
        shown = [
            f"⟨U+{code:04X}⟩" if _is_hidden(code, *beside) else unit
            for unit, code, *beside in zip(told, codes[1:], codes, codes[2:], strict=False)
        ]
        self._more = len(units) - len(told)
        self._left -= len(told)
        return "".join(shown)


def _instead(row: re.Match[str]) -> str:
    return row[0][: _backslashes(row[0])] + INSTEAD


def _backslashes(row: str) -> int:
    """Those before the escape that begins it; they are escaped themselves."""
    return len(row) - len(row.lstrip("\\")) - 1 if row[0] == "\\" else 0


# ── one character ────────────────────────────────────────────────────────────────────────────────────────────────────

_NOTHING = 0
_SHORT = {"\\b": 0x08, "\\f": 0x0C}
"""Controls that JSON can spell with a letter."""
_ESCAPE = r"\\u([0-9a-fA-F]{4})"


@lru_cache(maxsize=1_024)
def _code(unit: str) -> int:
    if len(unit) <= 2:
        return _SHORT.get(unit) or ord(unit)
    code = int(unit[2:6], 16)
    return 0x10000 + ((code - 0xD800) << 10) + int(unit[8:], 16) - 0xDC00 if len(unit) > 6 else code


def _before(text: str, at: int) -> int:
    escape = re.compile(_ESCAPE).match(text, max(0, at - 6), at)
    return int(escape[1], 16) if escape else ord(text[at - 1]) if at else _NOTHING


def _after(text: str, at: int) -> int:
    escape = re.compile(_ESCAPE).match(text, at)
    return int(escape[1], 16) if escape else ord(text[at]) if at < len(text) else _NOTHING


def _is_hidden(code: int, before: int, after: int) -> bool:
    if _is_selector(code):
        return _is_selector(before)
    return not (code in (0x200C, 0x200D) and _is_joined(before) and _is_joined(after))


def _is_selector(code: int) -> bool:
    return 0xFE00 <= code <= 0xFE0F


@lru_cache(maxsize=1_024)
def _is_joined(code: int) -> bool:
    """Can it be: is it a character of its own?"""
    return code >= 0x80 and (_is_selector(code) or re.match(f"[{_RAW}]", chr(code)) is None)

"""Knows the characters that a person cannot see. Pure.

Some are unseen wherever they stand, others only where they have no work to do: a joiner that joins nothing, a selector
of forms behind a character that has one form, an end of line that ends none. Patterns find all that may be unseen, and
little else, so that nearly every text is done with after one search; `is_unseen` decides.

JSON has two spellings for each character, itself and `\\uXXXX`. They are the same here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from msgspec import Struct

_ALWAYS = (
    "\x7f-\x9f\xad\u034f\u061c"  # delete, C1 controls, soft hyphen, grapheme joiner, Arabic letter mark
    "\u115f\u1160\u3164\uffa0\u17b4\u17b5\u180b-\u180f"  # Hangul fillers, Khmer vowels, Mongolian selectors
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"  # zero width space, direction, separators, invisible operators
    "\ufeff\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # byte order mark, format controls
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tags, and what is kept for more of their kind
    "\ufdd0-\ufdef" + "".join(f"{chr(plane - 2)}-{chr(plane - 1)}" for plane in range(0x10000, 0x110001, 0x10000))
)
"""The last row: no characters at all, and never will be."""
_CONTROLS = "\x00-\x08\x0b-\x1f"
"""All but tab and line feed. JSON can spell them only as escapes; a bare carriage return there is between strings."""
_JOINERS = "\u200c\u200d"
"""Unseen, unless they stand between two characters that can be joined, as in emoji and some scripts."""
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""Unseen, unless the character before has such a form."""

_PICTURES = "\xa9\xae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
"""Signs that can be drawn as text or as a picture, and their neighbours."""
_AS_TEXT_OR_PICTURE = "\ufe0e\ufe0f"
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_OF_IDEOGRAPHS = "\ufe00-\ufe02\U000e0100-\U000e01ef"
_FORMS = (
    (_AS_TEXT_OR_PICTURE, _PICTURES),
    (_OF_IDEOGRAPHS, _IDEOGRAPHS),
    ("\ufe00", "\u2200-\u2aff\U0001d400-\U0001d7ff"),  # mathematics
    ("\ufe00\ufe01", "\u2018-\u201f\u3001\u3002\uff01-\uff1f"),  # punctuation, in the corner or in the middle
    ("\ufe00-\ufe06", "\u1000-\u109f\uaa60-\uaa7f\ua840-\ua877\U00010ac0-\U00010aff\U00013000-\U0001342f"),
)
"""The selectors that do something behind each kind of character. The last: Myanmar, Phags-pa, Manichaean,
hieroglyphs.
"""
_KEYS, _KEYCAP = "#*0123456789", 0x20E3
"""A key is drawn with the cap that follows."""

RAW = f"{_ALWAYS}{_JOINERS}{_SELECTORS}"
_MAYBE = re.sub("[\U00010000-\U0010ffff]-?", "", RAW) + "\U0001bca0-\U0001d17a\U0001fffe\U0001ffff\U0002fffe-\U0010ffff"
"""All of these and a few more, in few ranges: beyond the first 65,536 `re` tries one after the other, for
each letter.
"""
_HEX = "[0-9a-fA-F]"
_ESCAPED_JOINER = r"u200[cdCD]"
_ESCAPED_SELECTOR = rf"u[fF][eE]0{_HEX}"
_ESCAPED_RETURN = r"(?:r|u000[dD])"
_ESCAPED_ALWAYS = (
    rf"(?:[bf]|u(?:00(?:0[0-8bBcCeEfF]|1{_HEX}|7[fF]|[89]{_HEX}|[aA][dD])|034[fF]|061[cC]"
    rf"|11(?:5[fF]|60)|3164|[fF]{{2}}[aA]0|17[bB][45]|180[b-fB-F]|20(?:0[bBeEfF]|2[89a-eA-E]|6{_HEX})"
    rf"|[fF][eE][fF]{{2}}|[fF]{{3}}[0-9a-bA-BeEfF]|[fF][dD][dDeE]{_HEX}"
    r"|[dD]82[fF]\\u[dD][cC][aA][0-3]|[dD]834\\u[dD]{2}7[3-9aA]"
    rf"|[dD][bB]4[0-3]\\u[dD][c-fC-F]{_HEX}{{2}}|[dD][89aAbB][37bBfF][fF]\\u[dD][fF]{{2}}[eEfF]))"
)
"""The text behind the backslash. Selectors of ideographs are here, too: few texts have them, and they are judged."""
_ESCAPED = rf"\\(?:{_ESCAPED_ALWAYS}|{_ESCAPED_JOINER}|{_ESCAPED_SELECTOR}|{_ESCAPED_RETURN})"
_ONE = rf"(?:[{RAW}]|{_ESCAPED})"
_SOME = rf"(?:[{RAW}]++|{_ESCAPED})"
"""A few. Repeated without `*+`: nothing behind takes any back, and Python 3.11.2 reads such groups wrong."""
_PAIR = rf"\\u[dD][89aAbB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}"
LONGEST_UNIT = 12
"""Characters that spell one: two escapes."""
_ANY = rf"(?s:{_PAIR}|\\u{_HEX}{{4}}|\\.|.)"


class Spelling(Struct, frozen=True):
    """How texts of one kind spell what may be unseen: one of them, and a row."""

    one: re.Pattern[str]
    row: re.Pattern[str]
    escapes: bool
    """Whether a backslash begins another spelling."""


@cache
def in_json() -> Spelling:
    """On first use: most messages are plain ASCII."""
    return Spelling(re.compile(_ONE), re.compile(rf"{_first()}{_SOME}*"), escapes=True)


@cache
def escape_in_bytes() -> re.Pattern[bytes]:
    """Finds any escape of JSON that may be unseen, and few others. Far faster than the search for rows, as it looks
    at each digit once and at no neighbour."""
    return re.compile(
        rb"\\(?:[bf]|r(?!\\n)|u(?:0(?:0(?:0[0-8b-fB-F]|[189]|7[fF]|[aA][dD])|34[fF]|61[cC])"
        rb"|1(?:1[56]|7[bB][45]|80[b-fB-F])|20[026]|3164|[fF](?:[fF](?:[fF]|[aA]0)|[eE][fF0]|[dD][dDeE])"
        rb"|[dD](?:82[fF]|834|[bB]4|[89aAbB][37bBfF][fF]\\u[dD][fF]{2})))"
    )


def _first() -> str:
    """Of a row in JSON. One class comes first, as that is found fast; then what is surely no row is left alone.

    What follows an escaped backslash is no escape.
    """
    own = rf"[^\x00-\x7f{_ALWAYS}{_JOINERS}]"
    escaped = rf"\\(?!u00[0-7]|{_ESCAPED_ALWAYS}|{_ESCAPED_JOINER})u{_HEX}{{4}}"
    joined = rf"(?=(?![{_SELECTORS}]|\\{_ESCAPED_SELECTOR})(?:{own}|{escaped}))"
    joiner = rf"(?:[{_JOINERS}]|\\{_ESCAPED_JOINER})"
    not_last = rf"(?=(?!{joiner}{joined}){_ONE})"
    cap = r"(?=\u20e3|\\u20[eE]3)"
    key = rf"(?<!\\u{_HEX}{{3}})[{_KEYS}]"
    no_form = rf"(?<!{key}\ufe0f{cap})(?<![{_PICTURES}][{_AS_TEXT_OR_PICTURE}])(?<![{_IDEOGRAPHS}][{_OF_IDEOGRAPHS}])"
    no_escaped_form = (
        rf"(?<!(?<!\\)\\u2[1-9aAbB]{_HEX}{{2}}\\u[fF][eE]0[eEfF])"
        rf"(?<!(?<!\\)\\u[dD]83(?:[cdCD]\\u[dD][c-fC-F]|[eE]\\u[dD][c-eC-E]){_HEX}{{2}}\\u[fF][eE]0[eEfF])"
        rf"(?<!{key}\\u[fF][eE]0[fF]{cap})"
    )
    return (
        rf"[{_MAYBE}\\](?:(?<=[{_SELECTORS}])(?:{no_form}|{not_last})"
        rf"|(?<=[{_JOINERS}])(?!(?:(?<={own}.)|(?<=(?<!\\){escaped}.)){joined})|(?<=[{_ALWAYS}])"
        rf"|(?<=\\)(?<!\\\\)(?:\\\\)*+(?:{_ESCAPED_ALWAYS}|{_ESCAPED_SELECTOR}(?:{no_escaped_form}|{not_last})"
        rf"|{_ESCAPED_RETURN}(?!\\(?:n|u000[aA]))"
        rf"|{_ESCAPED_JOINER}(?!(?:(?<={own}.{{6}})|(?<=(?<!\\){escaped}.{{6}})){joined})))"
    )


@cache
def in_text() -> Spelling:
    one = f"[{_CONTROLS}{RAW}]"
    return Spelling(re.compile(one), re.compile(f"{one}++"), escapes=False)


@cache
def chain() -> re.Pattern[str]:
    """Rows in JSON with only one other character between them: each is judged by its neighbours.

    The last one behind is a group of its own: it may have a neighbour, too.
    """
    return re.compile(rf"{_SOME}*(?:{_ANY}{_SOME}+)*({_ANY}?)")


# ── one character ────────────────────────────────────────────────────────────────────────────────────────────────────

NOTHING = 0
_SHORT = {"\\b": 0x08, "\\f": 0x0C, "\\n": 0x0A, "\\r": 0x0D}
"""Controls that JSON can spell with a letter."""
_RETURN, _LINE_FEED = 0x0D, 0x0A


@lru_cache(maxsize=1_024)
def code_of(unit: str) -> int:
    """Of a character in either spelling."""
    if len(unit) <= 2:
        return _SHORT.get(unit) or ord(unit[0])
    code = int(unit[2:6], 16)
    return 0x10000 + ((code - 0xD800) << 10) + int(unit[8:], 16) - 0xDC00 if len(unit) > 6 else code


@cache
def _escapes() -> Sequence[tuple[int, re.Pattern[str]]]:
    """By their length, the longest first."""
    return (12, re.compile(_PAIR)), (6, re.compile(rf"\\u{_HEX}{{4}}"))


@cache
def _escape() -> re.Pattern[str]:
    return re.compile(rf"\\u{_HEX}{{4}}|\\.")


def code_before(text: str, at: int, *, escapes: bool) -> int:
    if escapes:
        for length, spelled in _escapes():
            begin = at - length
            if begin >= 0 and spelled.match(text, begin, at) and not _is_escaped(text, begin):
                return code_of(text[begin:at])
    return ord(text[at - 1]) if at else NOTHING


def _is_escaped(text: str, at: int) -> bool:
    begin = at
    while begin and text[begin - 1] == "\\":
        begin -= 1
    return (at - begin) % 2 == 1


def code_after(text: str, at: int, *, escapes: bool) -> int:
    if at == len(text):
        return NOTHING
    escape = _escape().match(text, at) if escapes else None
    return code_of(escape[0]) if escape else ord(text[at])


def depends_on_neighbours(code: int) -> bool:
    return _is_selector(code) or code in (0x200C, 0x200D, _RETURN)


def is_unseen(code: int, before: int, after: int) -> bool:
    """Of one that may be, between these two."""
    if not depends_on_neighbours(code):
        return True
    if _is_selector(code):
        return not (_has_form(before, code) or (code == 0xFE0F and after == _KEYCAP and chr(before) in _KEYS))
    if code in (0x200C, 0x200D):
        return not ((_is_selector(before) or _is_joined(before)) and _is_joined(after))
    return after != _LINE_FEED


def _is_selector(code: int) -> bool:
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


@lru_cache(maxsize=1_024)
def _has_form(base: int, selector: int) -> bool:
    return any(_is_of(selector, selectors) and _is_of(base, bases) for selectors, bases in _FORMS)


@lru_cache(maxsize=1_024)
def _is_joined(code: int) -> bool:
    """Whether a joiner before it has work to do: whether it is a character of its own."""
    return code >= 0x80 and not _is_of(code, RAW)


def _is_of(code: int, letters: str) -> bool:
    return re.match(f"[{letters}]", chr(code)) is not None

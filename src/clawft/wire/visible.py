"""Characters that a person cannot see but a model, or a terminal, can: made visible. Pure, on raw JSON bytes.

Only strings of JSON can hold them (raw as UTF-8, or as `\\uXXXX`), so they are replaced in place and every other byte
of the message stays as it came.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

_HIDDEN = (
    rb"[\x7f\xc2\xcd\xd8\xe1-\xe3\xef\xf0\xf3](?:"  # one class first: three times as fast as plain alternatives
    rb"(?<=\x7f)|(?<=\xc2)[\x80-\x9f\xad]"  # delete, C1 controls, soft hyphen
    rb"|(?<=\xd8)\x9c|(?<=\xcd)\x8f"  # Arabic letter mark, grapheme joiner
    rb"|(?<=\xe1)(?:\xa0[\x8b-\x8f]|\x9e[\xb4\xb5])"  # Mongolian selectors and vowel separator, Khmer inherent vowels
    rb"|(?<=\xe1)\x85[\x9f\xa0]|(?<=\xe3)\x85\xa4|(?<=\xef)\xbe\xa0"  # Hangul fillers
    rb"|(?<=\xe2)\x80[\x8b\x8e\x8f\xaa-\xae]"  # zero width space, direction marks, bidi overrides
    rb"|(?<![\x80-\xff]\xe2)(?<=\xe2)\x80[\x8c\x8d]|(?<=\xe2)\x80[\x8c\x8d](?![\xc2-\xf4])"  # joiners, but not in emoji
    rb"|(?<=\xe2)\x80[\x8c\x8d](?=\xe2\x80[\x8c\x8d])|(?<=\xe2\x80[\x8c\x8d]\xe2)\x80[\x8c\x8d]"  # and not in a row
    rb"|(?<=\xe2)\x81[\xa0-\xaf]"  # word joiner, invisible operators, bidi isolates
    rb"|(?:(?<=\xef\xb8[\x80-\x8f]\xef)|(?<=\\u[fF][eE]0[0-9a-fA-F]\xef))\xb8[\x80-\x8f]"  # selectors in a row: bits
    rb"|(?<=\xef)\xbb\xbf|(?<=\xef)\xbf[\xb9-\xbb]"  # byte order mark, interlinear marks
    rb"|(?<=\xf0)\x9b\xb2[\xa0-\xa3]|(?<=\xf0)\x9d\x85[\xb3-\xba]"  # shorthand and musical format controls
    rb"|(?<=\xf3)\xa0[\x80-\xbf][\x80-\xbf])"  # tags, supplementary variation selectors
)
_ESCAPE = rb"(?s)\\u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|\\."
_TELLING = re.compile(rb"\\[ubf]")
"""Escapes that may spell something hidden."""
_KEPT_CONTROLS = frozenset({0x09, 0x0A, 0x0D})
_JOINERS = (0x200C, 0x200D)
_JOINABLE_BEFORE = rb"(?:[\x80-\xff]|\\u(?!00[0-7]|200[cdCD])[0-9a-fA-F]{4})\Z"
_JOINABLE_AFTER = rb"(?!\xe2\x80[\x8c\x8d])[\xc2-\xf4]|\\u(?!00[0-7]|200[cdCD])[0-9a-fA-F]{4}"
_SELECTORS = range(0xFE00, 0xFE10)
_AFTER_SELECTOR = rb"(?:\xef\xb8[\x80-\x8f]|\\u[fF][eE]0[0-9a-fA-F])\Z"
_SHORT = {b"\\b": 0x08, b"\\f": 0x0C}
"""Controls that JSON can spell with a letter."""


@cache
def _hidden() -> re.Pattern[bytes]:
    """On first use: most messages are plain ASCII."""
    return re.compile(_HIDDEN)


def is_clean(raw: bytes) -> bool:
    """True if there is surely nothing hidden in this JSON. Cheap for what nearly every message looks like."""
    if b"\\" in raw and _TELLING.search(raw) is not None:
        return False
    return b"\x7f" not in raw if raw.isascii() else _hidden().search(raw) is None


def _has_hidden(raw: bytes) -> bool:
    """As it is, not as an escape."""
    return b"\x7f" in raw if raw.isascii() else _hidden().search(raw) is not None


def make_visible(raw: bytes) -> bytes:
    """The same JSON with each hidden character spelled out as ⟨U+202E⟩."""
    if is_clean(raw):
        return raw
    spelled = re.sub(_ESCAPE, _spell_escape, raw)
    return _hidden().sub(_spell_bytes, spelled) if _has_hidden(raw) else spelled


def visible_text(text: str) -> str:
    """The same for a plain string, control characters included (but tab and line ends)."""
    encoded = text.encode("utf-8", "backslashreplace")
    shown = _hidden().sub(_spell_bytes, encoded).decode()
    return "".join(_mark(ord(c)) if ord(c) < 0x20 and ord(c) not in _KEPT_CONTROLS else c for c in shown)


def _mark(code: int) -> str:
    return f"⟨U+{code:04X}⟩"


def _spell_bytes(found: re.Match[bytes]) -> bytes:
    return _spelled_bytes(found.group())


@lru_cache(maxsize=1024)
def _spelled_bytes(hidden: bytes) -> bytes:
    return "".join(_mark(ord(c)) for c in hidden.decode()).encode()


def _spell_escape(found: re.Match[bytes]) -> bytes:
    spelled = _spelled(found.group())
    return spelled if spelled is not None else _spell_in_place(found)


@lru_cache(maxsize=1024)
def _spelled(escape: bytes) -> bytes | None:
    """An escape as it is shown; None where that depends on what stands before and after it."""
    if len(escape) == 2:
        # Another escape: consumed whole, so that `\\u` after a backslash is not misread.
        short = _SHORT.get(escape)
        return escape if short is None else _mark(short).encode()
    code, trail = int(escape[2:6], 16), escape[8:]
    if not trail:
        return None if code in _JOINERS or code in _SELECTORS else _spell_one(code, escape)
    if 0xD800 <= code < 0xDC00:
        return _spell_one(0x10000 + ((code - 0xD800) << 10) + (int(trail, 16) - 0xDC00), escape)
    return _spell_one(code, escape[:6]) + escape[6:]


def _spell_in_place(found: re.Match[bytes]) -> bytes:
    code = int(found.group()[2:6], 16)
    if code in _JOINERS and _joins(found):
        return found.group()
    if code in _SELECTORS and re.search(_AFTER_SELECTOR, _before(found)):
        return _mark(code).encode()
    return _spell_one(code, found.group())


def _joins(found: re.Match[bytes]) -> bool:
    """Does this joiner, written as an escape, stand between two characters that can be joined?"""
    before = _before(found)
    joinable = re.search(_JOINABLE_BEFORE, before) and not before.endswith((b"\xe2\x80\x8c", b"\xe2\x80\x8d"))
    return bool(joinable and re.match(_JOINABLE_AFTER, _behind(found)))


def _before(found: re.Match[bytes]) -> bytes:
    """What stands there before it, as far as one escape reaches."""
    return found.string[max(0, found.start() - 6) : found.start()]


def _behind(found: re.Match[bytes]) -> bytes:
    return found.string[found.end() : found.end() + 6]


def _spell_one(code: int, spelled: bytes) -> bytes:
    if code in _KEPT_CONTROLS or 0xD800 <= code < 0xE000:
        return spelled
    hidden = code < 0x20 or _hidden().search(chr(code).encode()) is not None
    return _mark(code).encode() if hidden else spelled

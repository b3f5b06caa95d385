"""Characters that a person cannot see but a model, or a terminal, can: made visible. Pure, on raw JSON bytes.

Only strings of JSON can hold them (raw as UTF-8, or as `\\uXXXX`), so they are replaced in place and every other byte
of the message stays as it came.
"""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    rb"\x7f"
    rb"|\xc2[\x80-\x9f\xad]"  # C1 controls, soft hyphen
    rb"|\xd8\x9c"  # Arabic letter mark
    rb"|\xe1\xa0\x8e"  # Mongolian vowel separator
    rb"|\xe2\x80[\x8b\x8e\x8f\xaa-\xae]"  # zero width space, direction marks, bidi overrides
    rb"|(?<![\x80-\xff])\xe2\x80[\x8c\x8d]|\xe2\x80[\x8c\x8d](?![\xc2-\xf4])"  # joiners, but not inside emoji
    rb"|\xe2\x81[\xa0-\xa4\xa6-\xaf]"  # word joiner, invisible operators, bidi isolates
    rb"|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]"  # byte order mark, interlinear marks
    rb"|\xf3\xa0[\x80\x81\x84-\x87][\x80-\xbf]"  # tags, supplementary variation selectors
)
_ESCAPE = re.compile(rb"\\u(?P<low>[0-9a-fA-F]{4})(?:\\u(?P<trail>[dD][c-fC-F][0-9a-fA-F]{2}))?|\\.", re.DOTALL)
_KEPT_CONTROLS = frozenset({0x09, 0x0A, 0x0D})


def is_clean(raw: bytes) -> bool:
    """True if there is surely nothing hidden in this JSON. Cheap for what nearly every message looks like."""
    if raw.isascii():
        return b"\\u" not in raw and b"\x7f" not in raw
    return b"\\u" not in raw and _HIDDEN.search(raw) is None


def make_visible(raw: bytes) -> bytes:
    """The same JSON with each hidden character spelled out as ⟨U+202E⟩."""
    if is_clean(raw):
        return raw
    return _HIDDEN.sub(_spell_bytes, _ESCAPE.sub(_spell_escape, raw))


def visible_text(text: str) -> str:
    """The same for a plain string, control characters included (but tab and line ends)."""
    encoded = text.encode("utf-8", "backslashreplace")
    shown = _HIDDEN.sub(_spell_bytes, encoded).decode()
    return "".join(_mark(ord(c)) if ord(c) < 0x20 and ord(c) not in _KEPT_CONTROLS else c for c in shown)


def _mark(code: int) -> str:
    return f"⟨U+{code:04X}⟩"


def _spell_bytes(found: re.Match[bytes]) -> bytes:
    return "".join(_mark(ord(c)) for c in found.group().decode()).encode()


def _spell_escape(found: re.Match[bytes]) -> bytes:
    if found["low"] is None:
        return found.group()  # another escape: consumed whole, so that `\\u` after a backslash is not misread
    code = int(found["low"], 16)
    if found["trail"] is not None and 0xD800 <= code < 0xDC00:
        code = 0x10000 + ((code - 0xD800) << 10) + (int(found["trail"], 16) - 0xDC00)
    elif found["trail"] is not None:
        return _spell_one(code, found.group()[:6]) + found.group()[6:]
    return _spell_one(code, found.group())


def _spell_one(code: int, spelled: bytes) -> bytes:
    if code in _KEPT_CONTROLS or 0xD800 <= code < 0xE000:
        return spelled
    hidden = code < 0x20 or _HIDDEN.search(chr(code).encode()) is not None
    return _mark(code).encode() if hidden else spelled

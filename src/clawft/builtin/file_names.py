"""File names as text that agents can read and write back, whatever bytes the name consists of. Pure.

A byte that is not UTF-8 is escaped as `\\xe9`. Invisible characters are escaped as `⟨U+200F⟩` by the guard of results.
A name that contains such an escape itself gets its backslash or bracket escaped.
"""

import os
import re

_BYTE = rb"\\x([89a-f][0-9a-f]|5c)"
_LIKE_BYTE = rb"\\(?=x(?:[89a-f][0-9a-f]|5c))"
_LETTER = r"⟨U\+([0-9A-F]{4,6})⟩"
_LIKE_LETTER = r"⟨(?=U\+[0-9A-F]{4,6}⟩)"
_BRACKET = "⟨U+27E8⟩"


def escaped_bytes(raw: bytes) -> str:
    """The bytes of a file name as escaped text: `\\xe9` for a byte that is not UTF-8, and `\\x5c` for a backslash that
    would otherwise look like such an escape.
    """
    escaped = re.sub(_LIKE_BYTE, rb"\\x5c", raw) if b"\\x" in raw else raw
    return re.sub(_LIKE_LETTER, _BRACKET, escaped.decode("utf-8", "backslashreplace"))


def escaped_name(name: str) -> str:
    """A file name as Python has it (`os.fsdecode`), as escaped text."""
    return escaped_bytes(os.fsencode(name))


def unescaped_bytes(name: str) -> bytes:
    """The bytes of a file name from its escaped text."""
    return re.sub(_BYTE, lambda found: bytes([int(found[1], 16)]), os.fsencode(re.sub(_LETTER, _letter, name)))


def unescaped_name(name: str) -> str:
    """A file name as Python has it (`os.fsdecode`), from its escaped text."""
    return os.fsdecode(unescaped_bytes(name))


def _letter(found: re.Match[str]) -> str:
    """The escaped character, unless it is printable: a slash or dot would change a path that was already judged."""
    code = int(found[1], 16)
    hidden = 0 < code < 0x20 or 0x7F <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF
    return chr(code) if hidden else found[0]

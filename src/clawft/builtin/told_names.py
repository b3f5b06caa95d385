"""Names of files as agents read and write them: text that leads back to the name, whatever it is made of. Pure.

A byte that is no UTF-8 is told as `\\xe9`. What nobody sees is told as `⟨U+200F⟩`, by the guard that does this to all
that agents are told. A name that has such letters itself is told with another spelling of its backslash or bracket.
"""

import os
import re

_BYTE = rb"\\x([89a-f][0-9a-f]|5c)"
_LIKE_BYTE = rb"\\(?=x(?:[89a-f][0-9a-f]|5c))"
_LETTER = r"⟨U\+([0-9A-F]{4,6})⟩"
_LIKE_LETTER = r"⟨(?=U\+[0-9A-F]{4,6}⟩)"
_BRACKET = "⟨U+27E8⟩"


def named(raw: bytes) -> str:
    """The name of a file as text that leads back to it: `\\xe9` for a byte that is no UTF-8, and where a name has these
    letters itself, `\\x5c` for its backslash.
    """
    told = re.sub(_LIKE_BYTE, rb"\\x5c", raw) if b"\\x" in raw else raw
    return re.sub(_LIKE_LETTER, _BRACKET, told.decode("utf-8", "backslashreplace"))


def told_name(name: str) -> str:
    """The name of a file, as Python has it, as text that leads back to it."""
    return named(os.fsencode(name))


def raw_name(name: str) -> bytes:
    """The file that was told under this name, as the system names it."""
    return re.sub(_BYTE, lambda found: bytes([int(found[1], 16)]), os.fsencode(re.sub(_LETTER, _letter, name)))


def real_name(name: str) -> str:
    """The file that was told under this name, as Python and command lines name it."""
    return os.fsdecode(raw_name(name))


def _letter(found: re.Match[str]) -> str:
    """Never one that has a say in a path, as whoever judged this name saw none: no null, no slash, no dot."""
    code = int(found[1], 16)
    hidden = 0 < code < 0x20 or 0x7F <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF
    return chr(code) if hidden else found[0]

"""Names of files as agents read and write them: text that leads back to the name, whatever bytes it has. Pure."""

import os
import re

_SPELLED = re.compile(rb"\\x([89a-f][0-9a-f]|5c)")
_LIKE_SPELLED = re.compile(rb"\\(?=x(?:[89a-f][0-9a-f]|5c))")


def named(raw: bytes) -> str:
    """The name of a file as text that leads back to it: `\\xe9` for a byte that is no UTF-8, and where a name has these
    letters itself, `\\x5c` for its backslash.
    """
    told = _LIKE_SPELLED.sub(rb"\\x5c", raw) if b"\\x" in raw else raw
    return told.decode("utf-8", "backslashreplace")


def told_name(name: str) -> str:
    """The same for a name as Python has it."""
    return named(os.fsencode(name))


def raw_name(name: str) -> bytes:
    """The file that was told under this name."""
    return _SPELLED.sub(lambda found: bytes([int(found[1], 16)]), os.fsencode(name))


def real_name(name: str) -> str:
    """The same as Python has it, and command lines."""
    return os.fsdecode(raw_name(name))

"""What git says, read: bytes as text, text as records. Much of it in a thread, as everybody else would wait."""

import asyncio
import os
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

LARGE = 256 * 1024
"""Output above this is read in a thread."""


_SPELLED = re.compile(rb"\\x([89a-f][0-9a-f]|5c)")
_LIKE_SPELLED = re.compile(rb"\\(?=x(?:[89a-f][0-9a-f]|5c))")


def decoded(raw: bytes) -> str:
    """Contents as text: bytes that are no UTF-8 are spelled out."""
    return raw.decode("utf-8", "backslashreplace")


def named(raw: bytes) -> str:
    """The name of a file as text that leads back to it: `\\xe9` for a byte that is no UTF-8, and where a name has these
    letters itself, `\\x5c` for its backslash.
    """
    return decoded(_LIKE_SPELLED.sub(rb"\\x5c", raw) if b"\\x" in raw else raw)


def raw_name(name: str) -> bytes:
    """The file that was told under this name."""
    return _SPELLED.sub(lambda found: bytes([int(found[1], 16)]), name.encode())


def as_argument(name: str) -> str:
    """The same for a command line."""
    return os.fsdecode(raw_name(name))


def records(said: str, size: int) -> Iterator[list[str]]:
    """So many fields each, with a null byte behind every field."""
    fields = said.split("\0")
    return (fields[at : at + size] for at in range(0, len(fields) - size + 1, size))


async def understood(parse: Callable[[bytes], T], said: bytes) -> T:
    """What was said, read. Much of it in a thread: it would hold everybody else up."""
    return parse(said) if len(said) < LARGE else await asyncio.to_thread(parse, said)

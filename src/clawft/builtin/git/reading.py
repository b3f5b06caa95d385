"""What git says, read: bytes as text, text as records. Much of it in a thread, as everybody else would wait."""

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

THREADED_BYTES = 256 * 1024
"""Output above this is read in a thread."""


def decoded(raw: bytes) -> str:
    """Contents as text: bytes that are no UTF-8 are spelled out."""
    return raw.decode("utf-8", "backslashreplace")


def records(said: str, size: int) -> Iterator[list[str]]:
    """So many fields each, with a null byte behind every field."""
    fields = said.split("\0")
    return (fields[at : at + size] for at in range(0, len(fields) - size + 1, size))


async def understood(parse: Callable[[bytes], T], said: bytes) -> T:
    """What was said, read. Much of it in a thread: it would hold everybody else up."""
    return parse(said) if len(said) < THREADED_BYTES else await asyncio.to_thread(parse, said)

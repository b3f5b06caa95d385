"""Decodes what git prints: bytes as text, text as records; large outputs in a thread, so that the loop goes on."""

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

THREADED_BYTES = 256 * 1024
"""Output above this is read in a thread."""


def decoded(raw: bytes) -> str:
    """Contents as text: bytes that are not UTF-8 are escaped."""
    return raw.decode("utf-8", "backslashreplace")


def records(said: str, size: int) -> Iterator[list[str]]:
    """Records of `size` fields each, where a null byte ends every field."""
    fields = said.split("\0")
    return (fields[at : at + size] for at in range(0, len(fields) - size + 1, size))


async def understood(parse: Callable[[bytes], T], said: bytes) -> T:
    """The parsed output; a large one is parsed in a thread, as parsing it would hold up the loop."""
    return parse(said) if len(said) < THREADED_BYTES else await asyncio.to_thread(parse, said)

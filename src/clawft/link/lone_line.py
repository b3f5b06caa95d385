"""What is said about a line that came alone is written at once.

The lines of one turn of the loop are written together, which is what many calls in flight need. One that is alone on
its way would only wait for the rest of its turn: nothing comes to join it. So it goes past the transport as soon as it
is made, and what is left to do about it is done while the other side works.
"""

from __future__ import annotations

import asyncio
import os

LONGEST = 4096
"""Bytes that a pipe of Linux takes whole or not at all."""


class LoneLine:
    """Of whichever reader: all that share a loop take turns."""

    here = False
    """The only line of a read is being handed over, and nothing was written about it yet."""


def descriptor_of(transport: asyncio.WriteTransport) -> int | None:
    """Of the pipe behind it, where that can be written to past it."""
    pipe = transport.get_extra_info("pipe")
    return pipe.fileno() if pipe is not None and os.name == "posix" else None


def write_at_once(line: bytes, descriptor: int, transport: asyncio.WriteTransport) -> bool:
    """False if it has to go the way of all others, and nothing was written."""
    if len(line) > LONGEST or transport.is_closing() or transport.get_write_buffer_size():
        return False
    try:
        written = os.write(descriptor, line)
    except OSError:  # it is full, or nobody reads it any more: the transport finds out which
        return False
    if written < len(line):
        transport.write(line[written:])
    return True

"""The answer to a line that came alone is written at once, past the transport.

Lines written in one turn of the loop are collected and written together, which is best when many calls are in flight.
A single one would only wait for the end of the turn. Written directly, it reaches the other side while we still do the
rest of the work.
"""

from __future__ import annotations

import asyncio
import os

LONGEST = 4096
"""Bytes that a pipe of Linux takes whole or not at all."""


class SingleLine:
    """Whether the line being handled is the only one of its read. One flag is enough: readers of a loop take turns."""

    is_current = False
    """A single line is being handled, and nothing has been written yet."""


def descriptor_of(transport: asyncio.WriteTransport) -> int | None:
    """The descriptor of the transport's pipe; None where it cannot be written to directly."""
    pipe = transport.get_extra_info("pipe")
    return pipe.fileno() if pipe is not None and os.name == "posix" else None


def write_directly(line: bytes, descriptor: int, transport: asyncio.WriteTransport) -> bool:
    """Write the line to the pipe. False if nothing was written and the transport has to do it."""
    if len(line) > LONGEST or transport.is_closing() or transport.get_write_buffer_size():
        return False
    try:
        written = os.write(descriptor, line)
    except OSError:  # it is full, or nobody reads it any more: the transport finds out which
        return False
    if written < len(line):
        transport.write(line[written:])
    return True

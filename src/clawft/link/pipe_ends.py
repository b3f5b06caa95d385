"""The ends of pipes, made ready for the loop."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import IO, cast

PIPE_BYTES = 1024 * 1024


def grow(*descriptors: int) -> None:
    """Enlarge the pipes, which saves a wake-up per 64 KiB on both sides; it may fail without harm."""
    if sys.platform == "linux":
        import fcntl  # not on every system

        for descriptor in descriptors:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            except OSError:
                continue


def handed_over(end: IO[bytes] | None, loop: asyncio.AbstractEventLoop) -> IO[bytes]:
    """The file object for the loop, in place of this end of a pipe, which is consumed.

    uvloop closes the descriptor, and then the file, which closes the same number again: by then some thread may have
    opened another file under it. So it gets one that closes nothing. Python's own loop closes the file alone.
    """
    if end is None or type(loop).__module__.partition(".")[0] != "uvloop":
        return cast("IO[bytes]", end)  # never None with pipes; the type of processes does not know
    with end:
        return open(os.dup(end.fileno()), "rb" if end.readable() else "wb", 0, closefd=False)

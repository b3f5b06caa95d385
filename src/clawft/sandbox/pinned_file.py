"""Files a command was approved with, as they were when that was looked at. Between the look and the start somebody may
put another in their place, so the command is given the bytes that were looked at, where the machine can do that; and
when it has answered, each has to be untouched: from outside one sees which file it is, and when it was changed last.
"""

from __future__ import annotations

import os

from msgspec import Struct
from msgspec.structs import replace

MODE = 0o777


class PinnedFile(Struct, frozen=True):
    path: str
    """As it is named."""
    stamp: str
    content: bytes | None = None
    """What the command is to find there; None: whatever is there."""
    mode: int = 0
    place: str = ""
    """Where it really lies."""

    @property
    def touched(self) -> bool:
        """Is it another now, or was it one for a moment?"""
        return stamp(self.path) != self.stamp

    def without_content(self) -> PinnedFile:
        """For those who look at it again, and live long."""
        return replace(self, content=None)


def pinned(path: str, seen: os.stat_result, content: bytes | None) -> PinnedFile:
    return PinnedFile(path, stamp_of(seen), content, seen.st_mode & MODE, os.path.realpath(path))


def stamp(path: str) -> str:
    """A file from outside; the time of its last change of state cannot be set by whoever changes the file."""
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return ""


def stamp_of(seen: os.stat_result) -> str:
    return f"{seen.st_dev}:{seen.st_ino}:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"

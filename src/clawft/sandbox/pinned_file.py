"""Files a command was approved with, as they were at the check.

Between check and start somebody may replace them, so the command is given the bytes that were checked, if the machine
can do that. Afterwards each file has to be untouched, by its identity and the time of its last change.
"""

from __future__ import annotations

import os

from msgspec import Struct
from msgspec.structs import replace

MODE = 0o777


class PinnedFile(Struct, frozen=True):
    path: str
    """The path as the command names it."""
    stamp: str
    content: bytes | None = None
    """The content that the command finds there; None: whatever the file holds."""
    mode: int = 0
    place: str = ""
    """The real path, without links."""

    @property
    def touched(self) -> bool:
        """Whether the file is another one now, or was for a moment."""
        return stamp(self.path) != self.stamp

    def without_content(self) -> PinnedFile:
        """Without the bytes, to check the file again later without holding them."""
        return replace(self, content=None)


def pinned(path: str, seen: os.stat_result, content: bytes | None) -> PinnedFile:
    return PinnedFile(path, stamp_of(seen), content, seen.st_mode & MODE, os.path.realpath(path))


def stamp(path: str) -> str:
    """Identifies the state of a file. Its change time cannot be set by those who change the file."""
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return ""


def stamp_of(seen: os.stat_result) -> str:
    return f"{seen.st_dev}:{seen.st_ino}:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"

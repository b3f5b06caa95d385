"""Whoever can write the user's own files decides what is started and allowed; so nobody else may."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from clawft.errors import InvalidConfig, quoted

ROOT = 0
"""May own files of every user: who is root needs no file of ours."""


def exposed(file: Path) -> InvalidConfig | None:
    """Why what it says does not count; None if it does, or cannot be looked at: reading it says why."""
    try:
        found = file.stat()
    except OSError:
        return None
    if os.name != "posix":
        return None
    if found.st_mode & stat.S_IWOTH:
        return InvalidConfig(
            f"{file} can be changed by every user, so it counts for nothing", hint=f"chmod go-w {quoted(file)}"
        )
    if found.st_uid not in (os.getuid(), ROOT):
        told = f"{file} belongs to another user, so it counts for nothing"
        return InvalidConfig(told, hint="make a copy of your own")
    return None

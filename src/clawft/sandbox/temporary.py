"""Private temporary folders for children that have no namespace of their own.

All of one weft lie in one folder, which is locked as long as that weft lives. Folders of a killed weft are unlocked,
and removed by the next one.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import tempfile
import time
from contextlib import suppress
from functools import cache
from threading import Thread

from clawft.sandbox.removal import remove

PREFIX = "weft."
MIN_AGE_SECONDS = 60.0
"""Minimum age of a folder that is removed: it is not locked in the moment after it is made."""
MAX_SWEPT = 100
"""How many abandoned folders one weft removes."""


def private_folder(base: str = "") -> str:
    """A folder for one child, which its starter removes; in `base`, or where temporary files are kept."""
    return tempfile.mkdtemp(dir=_ours(os.path.realpath(base or tempfile.gettempdir())))


@cache
def _ours(base: str) -> str:
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=base)
    _lock(folder)  # held until we end
    atexit.register(_remove_if_empty, folder)
    Thread(target=sweep, args=(base,), name="sweep", daemon=True).start()
    return folder


def sweep(base: str) -> None:
    """Remove folders whose lock is free."""
    try:
        with os.scandir(base) as found:
            old = [entry.path for entry in found if entry.name.startswith(PREFIX) and _is_old(entry)]
    except OSError:
        return
    for folder in old[:MAX_SWEPT]:
        held = _lock(folder)
        if held is not None:
            remove(folder)
            os.close(held)


def _is_old(entry: os.DirEntry[str]) -> bool:
    """Whether this is an old folder of ours: others may put anything there under such a name."""
    try:
        seen = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    is_ours = entry.is_dir(follow_symlinks=False) and seen.st_uid == os.getuid()
    return is_ours and time.time() - seen.st_mtime >= MIN_AGE_SECONDS


def _lock(folder: str) -> int | None:
    """A descriptor that holds the lock; None if another process does, or the folder is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_if_empty(folder: str) -> None:
    with suppress(OSError):
        os.rmdir(folder)

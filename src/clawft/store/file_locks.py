"""Locks on files, against every other thread and process. The system frees a lock when its holder dies."""

import asyncio
import errno
import os
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from clawft.errors import Busy
from clawft.store.private_files import PRIVATE_FILE

LOCK_SECONDS = 10.0
"""How long to wait for another process before giving up."""

_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05
"""The longest pause between two tries to get a lock."""
_LOCK_FILE = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})


@contextmanager
def locked(path: Path, seconds: float = LOCK_SECONDS) -> Generator[None]:
    """Hold the lock file `path` against every other thread and process; the system frees it if we die.

    Blocks the thread. Raises Busy if the lock cannot be had in time.
    """
    descriptor = os.open(path, _LOCK_FILE, PRIVATE_FILE)
    try:
        waits = pauses(path, seconds)
        while not _try_lock(descriptor):
            time.sleep(next(waits))
        try:
            yield
        finally:
            _unlock(descriptor)
    finally:
        os.close(descriptor)


async def held(path: Path, seconds: float = LOCK_SECONDS) -> int:
    """Like `locked`, without blocking the loop: a descriptor that holds the lock until it is closed.

    A child it is handed to holds the lock as well, also after our end.
    """
    return await _once_free(os.open(path, _LOCK_FILE, PRIVATE_FILE), path, seconds)


async def held_folder(path: Path, seconds: float) -> int:
    """A descriptor that holds the lock of a folder. OSError if there is no such folder, or it cannot be locked."""
    return await _once_free(os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)), path, seconds)


async def _once_free(descriptor: int, path: Path, seconds: float) -> int:
    try:
        waits = pauses(path, seconds)
        while not _try_lock(descriptor):  # noqa: ASYNC110 - it is another process that lets go
            await asyncio.sleep(next(waits))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def pauses(path: Path, seconds: float) -> Iterator[float]:
    """Pauses between tries to get a lock, growing. Raises Busy when `seconds` have passed."""
    end, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while time.monotonic() < end:
        yield pause
        pause = min(pause * 2, _LONGEST_PAUSE)
    raise Busy(
        f"another process has held {path} for too long",
        hint="end the other clawft process that hangs, then try again",
    )


def claimed(descriptor: int) -> bool:
    """Take an open file for ourselves until it is closed; False if another process, or part of us, has it.

    Not on Windows, where such a lock would keep others from reading the file, too.
    """
    return sys.platform == "win32" or _try_lock(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        _lock(descriptor)
    except OSError as refused:
        if refused.errno in _TAKEN:
            return False
        raise
    return True


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

"""Where state lives, and how files are written there: private from creation on, whole or not at all, one at a time."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Generator
from pathlib import Path

from clawft.errors import Busy

LOCK_SECONDS = 10.0
_RETRY_SECONDS = 0.01


def home() -> Path:
    """`CLAWFT_HOME`, or `~/.clawft`."""
    told = os.environ.get("CLAWFT_HOME")
    return Path(told).expanduser() if told else Path.home() / ".clawft"


def private_dir(path: Path) -> Path:
    """The folder, 0700 from the moment it exists."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def write_private(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace the file in one step: a reader sees the old or the new content, also after a crash in between.

    Without `sync` that holds for crashes of ours, not of the machine.
    """
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def locked(path: Path, seconds: float = LOCK_SECONDS) -> Generator[None]:
    """Hold the lock file against every other process. Raises Busy if it cannot be had in time."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _wait_for(descriptor, path, seconds)
        yield
    finally:
        os.close(descriptor)  # closing gives the lock back


def _wait_for(descriptor: int, path: Path, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not _try_lock(descriptor):
        if time.monotonic() > until:
            raise Busy(f"{path} is locked by another process", hint="wait for it, or end it")
        time.sleep(_RETRY_SECONDS)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

"""Our folder and how files in it are made: for the owner only, whole or not at all, one writer at a time."""

import asyncio
import errno
import os
import stat
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from clawft.errors import Busy, InvalidConfig

LOCK_SECONDS = 10.0
"""How long to wait for another process before giving up."""

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
TEMPORARY = ".tmp-"
ABANDONED_SECONDS = 3_600.0
"""A temporary file that is older was left behind by a process that was killed."""

_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05
"""The longest pause between two tries to get a lock."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_LOCK_FILE = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})


def open_at_once(path: str | Path) -> BufferedReader:
    """Open a file to read without blocking, even if it is a named pipe. Raises OSError for a folder."""
    descriptor = os.open(path, os.O_RDONLY | _AT_ONCE)
    try:
        return open(descriptor, "rb")
    except OSError as failed:
        os.close(descriptor)
        failed.filename = str(path)  # it knows the number only
        raise


def read_plain(path: Path, most: int) -> bytes:
    """The first `most` bytes of a file of ours. Never waits: what is no file, a pipe or a device, raises OSError."""
    with open_plain(path) as file:
        return file.read(min(most, os.fstat(file.fileno()).st_size))  # or Python takes room for `most`


def open_plain(path: Path) -> BufferedReader:
    """A file of ours, to be read step by step. Never waits: what is no file, a pipe or a device, raises OSError."""
    file = open_at_once(path)
    try:
        check_plain(file.fileno(), path)
    except OSError:
        file.close()
        raise
    return file


def check_plain(descriptor: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "it is no plain file", str(path))


def home() -> Path:
    """CLAWFT_HOME, or ~/.clawft. Raises InvalidConfig if it is the home of nobody we know.

    A HOME that is relative would have us take the files of whichever folder we are started in for the user's own.
    """
    told = os.environ.get("CLAWFT_HOME") or "~/.clawft"
    try:
        found = Path(told).expanduser()
    except RuntimeError:
        raise InvalidConfig(f"{told}: nobody knows where that home is", hint="export CLAWFT_HOME=/a/folder") from None
    if told.startswith("~") and not found.is_absolute():
        raise InvalidConfig(f"{told} is {found}, as HOME is no absolute path", hint="export CLAWFT_HOME=/a/folder")
    return found.absolute()


def private_dir(path: Path, *, sync: bool = False) -> Path:
    """Make the folder and the missing ones above it, each closed to others from its first moment.

    `sync`: what is written into it later must not be lost with the folder when the machine ends.
    """
    missing: list[Path] = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)  # another process may have been faster
        if sync:
            _sync_folder(folder.parent)
    return missing[0] if missing else path


def write_private(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace the file: whoever reads sees the old or the new content, even if we are killed half-way.

    Without `sync` that holds for the end of our process, not for that of the machine.
    """
    temporary = path.parent / f"{TEMPORARY}{os.urandom(8).hex()}"
    try:
        _write_new(temporary, data, sync)
        os.replace(temporary, path)
    except BaseException as failed:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(failed, OSError):
            failed.filename = str(path)  # what was to be written, and not how
        raise
    if sync:
        _sync_folder(path.parent)


def _write_new(path: Path, data: bytes, sync: bool) -> None:
    descriptor = os.open(path, _NEW_FILE, PRIVATE_FILE)
    with open(descriptor, "wb", buffering=0) as file:
        write_all(file.fileno(), data)
        if sync:
            os.fsync(file.fileno())


def sweep(folder: Path, age: float = 0.0) -> None:
    """Whoever wrote here before us and was killed may have left half a file; we hold the lock, so nobody writes now.

    `age`: where files have locks of their own, by how old it is that nobody writes it any more.
    """
    newest = time.time() - age
    for left in folder.glob(f"{TEMPORARY}*"):
        with suppress(FileNotFoundError):  # of two who sweep the other was faster
            if left.lstat().st_mtime <= newest:
                left.unlink()


def write_all(descriptor: int, data: bytes) -> None:
    """Write all the data, as one `os.write` may write less."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut, where folders can be opened at all."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
        f"another process holds {path}, and has done so for too long",
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

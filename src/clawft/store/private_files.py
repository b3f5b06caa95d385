"""Private files: readable by their owner only, and written whole or not at all. Reading one never waits."""

import errno
import os
import stat
import sys
import time
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
TEMPORARY = ".tmp-"
ABANDONED_SECONDS = 3_600.0
"""A temporary file that is older was left behind by a process that was killed."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


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
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


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

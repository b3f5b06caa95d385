"""An append-only file of JSON lines, each sealed to the one before it by a hash.

Several processes may append to one journal. A changed, removed, inserted or moved line breaks the chain; a tail
that was cut off shows against the head file beside it. Full files are kept up to a number; where the oldest had to
go, the base file says which line was their last, and the chain is checked from there. That proves that the journal was
touched, not by whom: who can write these files can also make up a new chain. `journal_reading` checks and reads it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from clawft.store import link_file
from clawft.store.chain import MAX_ENTRY_BYTES, START, ChainLink, check_entries, read_link, seal
from clawft.store.file_locks import LOCK_SECONDS, locked
from clawft.store.link_file import base_file, head_file
from clawft.store.private_files import PRIVATE_FILE, check_plain, open_plain, private_dir, write_all

ROTATE_BYTES = 64 * 1024 * 1024
KEEP_FILES = 10
"""Full ones; the oldest go."""
MAX_LINE_BYTES = MAX_ENTRY_BYTES + 1_024
"""An entry and its seal."""

_BLOCK = 64 * 1024
_BINARY = getattr(os, "O_BINARY", 0)


class Journal:
    def __init__(self, path: Path, rotate_bytes: int = ROTATE_BYTES, keep_files: int = KEEP_FILES) -> None:
        self._path = path.resolve()  # homes whose links lead to one journal share its lock and its head, too
        self._rotate_bytes = rotate_bytes
        self._keep_files = keep_files
        self._end = START
        self._seen: tuple[int, int, int] | None = None

    def append(self, entries: Sequence[bytes | Mapping[str, Any]], seconds: float = LOCK_SECONDS) -> None:
        """Write JSON objects as one batch behind whatever others have written meanwhile.

        Blocks. Raises Busy if somebody else holds the journal for so long, or OSError; nothing is written then.
        """
        encoded = check_entries(
            [entry if isinstance(entry, bytes) else msgspec.json.encode(entry) for entry in entries]
        )
        if not encoded:
            return
        private_dir(self._path.parent)
        with locked(lock_of(self._path), seconds):
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, PRIVATE_FILE)
            try:
                check_plain(descriptor, self._path)
                size = self._write(descriptor, encoded)
            finally:
                os.close(descriptor)
            if size > self._rotate_bytes:
                self._rotate()

    def _write(self, descriptor: int, entries: list[bytes]) -> int:
        """Returns the new size."""
        self._catch_up(descriptor)
        lines, end = seal(entries, self._end)
        before, self._seen = os.fstat(descriptor).st_size, None
        try:
            write_all(descriptor, lines)
            link_file.write(head_file(self._path), end)
        except OSError:  # the disk is full half-way: whoever comes again with the same lines must not find some of them
            os.ftruncate(descriptor, before)
            raise
        self._end, self._seen = end, _state(descriptor)
        return self._seen[2]

    def _catch_up(self, descriptor: int) -> None:
        """Find the end of the chain, unless the file is just as we left it.

        Where the head file, or we ourselves, know of later lines than the journal has, the chain goes on from there:
        the gap shows, even where the whole folder is gone. So it does where the head file was taken away.
        """
        if self._seen == _state(descriptor):
            return
        _drop_torn_line(descriptor)
        last, head = read_link(_last_line(descriptor)) or START, link_file.read(head_file(self._path))
        if head is None and (self._end.seq < last.seq or (self._end == START and is_spoiled(self._path))):
            head = ChainLink(last.seq + 1)  # nobody can tell what stood there: the next line follows one that is not
        if head is None:
            link_file.begin(head_file(self._path))
        self._end = max(self._end, head or START, last, key=_number)

    def _rotate(self) -> None:
        """The chain goes on in a new file; the oldest full one may have to go."""
        self._path.rename(self._path.with_name(f"{self._path.stem}-{self._end.seq:020d}{self._path.suffix}"))
        self._seen = None
        for file in full_files(self._path)[: -self._keep_files]:
            _drop(file, self._path)


def full_files(path: Path) -> list[Path]:
    """The oldest first."""
    return sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"))


def is_spoiled(path: Path) -> bool:
    """Whether there is a head file, if it is known to hold nothing of ours."""
    return os.path.lexists(head_file(path))


def _number(link: ChainLink) -> int:
    return link.seq


def lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")


def _state(descriptor: int) -> tuple[int, int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino, status.st_size


def _last_line(descriptor: int) -> bytes:
    return end_of(descriptor, 2, MAX_LINE_BYTES).removesuffix(b"\n").rpartition(b"\n")[2]


def end_of(descriptor: int, breaks: int, most: int) -> bytes:
    """The end of a file with at least this many line breaks, read backwards; the whole file if it has fewer."""
    start = size = os.fstat(descriptor).st_size
    blocks: list[bytes] = []
    while start > 0 and breaks > 0 and size - start < most:
        length = min(_BLOCK, start)
        start -= length
        os.lseek(descriptor, start, os.SEEK_SET)
        block = os.read(descriptor, length)
        breaks -= block.count(b"\n")
        blocks.append(block)
    return b"".join(reversed(blocks))


def _drop_torn_line(descriptor: int) -> None:
    """A line without its end was being written when its process was killed; nobody was told that it is there."""
    end = whole_size(descriptor)
    if end < os.fstat(descriptor).st_size:
        os.ftruncate(descriptor, end)


def whole_size(descriptor: int) -> int:
    """The size of the file without such a line."""
    end = end_of(descriptor, 1, MAX_LINE_BYTES)
    return os.fstat(descriptor).st_size - (len(end) - (end.rfind(b"\n") + 1))


def _drop(file: Path, path: Path) -> None:
    """The base is written first: if we are killed in between, the file is passed over, and goes the next time."""
    with open_plain(file) as stream:
        last = read_link(_last_line(stream.fileno()))
    if last is not None:
        link_file.write(base_file(path), last)
    file.unlink()

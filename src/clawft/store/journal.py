"""An append-only file of JSON lines, each sealed to the one before it by a hash.

Several processes may append to one journal. A changed, removed, inserted or moved line breaks the chain; a tail
that was cut off shows against the head file beside it. Full files are kept up to a number; where the oldest had to
go, the base file says which line was their last, and the chain is checked from there. That proves that the journal was
touched, not by whom: who can write these files can also make up a new chain.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Raw, Struct

from clawft.store import link_file
from clawft.store.chain import MAX_ENTRY_BYTES, START, ChainLink, check, check_entries, read_link, seal
from clawft.store.home import (
    LOCK_SECONDS,
    PRIVATE_FILE,
    check_plain,
    locked,
    open_plain,
    private_dir,
    write_all,
)
from clawft.store.link_file import base_file, head_file

ROTATE_BYTES = 64 * 1024 * 1024
KEEP_FILES = 10
"""Full ones; the oldest go."""
MAX_LINE_BYTES = MAX_ENTRY_BYTES + 1_024
"""An entry and its seal."""

_BLOCK = 64 * 1024
_BINARY = getattr(os, "O_BINARY", 0)

_Part = tuple[Path, BinaryIO, int]
"""A file of the journal, as it was opened, and how much of it counts."""


class IntactJournal(Struct, frozen=True):
    lines: int
    dropped: int = 0
    """Older lines that had to make room."""


class BrokenJournal(Struct, frozen=True):
    """The first line that is not as it was written (0: lines are missing at the end)."""

    file: str
    line: int
    reason: str


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
        with locked(_lock(self._path), seconds):
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
        if head is None and (self._end.seq < last.seq or (self._end == START and _is_spoiled(self._path))):
            head = ChainLink(last.seq + 1)  # nobody can tell what stood there: the next line follows one that is not
        if head is None:
            link_file.begin(head_file(self._path))
        self._end = max(self._end, head or START, last, key=_number)

    def _rotate(self) -> None:
        """The chain goes on in a new file; the oldest full one may have to go."""
        self._path.rename(self._path.with_name(f"{self._path.stem}-{self._end.seq:020d}{self._path.suffix}"))
        self._seen = None
        for file in _full_files(self._path)[: -self._keep_files]:
            _drop(file, self._path)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def files(path: Path) -> list[Path]:
    """The journal's files, oldest first."""
    older = _full_files(path)
    return [*older, path] if path.exists() else older


def _full_files(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"))


@contextmanager
def _at_rest(path: Path) -> Generator[None]:
    """While nobody writes; where the disk is read-only, nobody can."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(_lock(path)))
        except OSError as failed:
            if failed.errno != errno.EROFS:
                raise
        yield


def verify(path: Path) -> IntactJournal | BrokenJournal:
    """Follow the chain from its first line to its last. What is appended meanwhile is left for the next time."""
    path = path.resolve()
    if not path.parent.is_dir():
        return IntactJournal(0)
    with ExitStack() as opened:
        with _at_rest(path):
            head, base = link_file.read(head_file(path)), _base(path)
            full = [file for file in _full_files(path) if not _is_dropped(file, base)]
            newest = opened.enter_context(open_plain(path)) if path.exists() else None
            size = _whole(newest.fileno()) if newest is not None else 0
        parts = _one_by_one(full) if newest is None else chain(_one_by_one(full), [(path, newest, size)])
        try:
            end = _follow(parts, base, head)
        except FileNotFoundError:
            if _base(path) == base:
                raise
            return verify(path)  # the oldest had to make room meanwhile
    return end if isinstance(end, BrokenJournal) else _against_head(path, end, head, base.seq)


def _one_by_one(full: Sequence[Path]) -> Iterator[_Part]:
    """There may be more files than a process may have open."""
    for file in full:
        with open_plain(file) as stream:
            yield file, stream, _whole(stream.fileno())


def _base(path: Path) -> ChainLink:
    return link_file.read(base_file(path)) or START


def _follow(parts: Iterable[_Part], end: ChainLink, head: ChainLink | None) -> ChainLink | BrokenJournal:
    """The end of the chain that goes through these."""
    for file, stream, size in parts:
        stream.seek(0)
        for number, line in enumerate(_lines(stream, size), 1):
            found = check(line, end)
            if isinstance(found, str):
                return BrokenJournal(file.name, number, found)
            if head is not None and found.seq == head.seq and found.hash != head.hash:
                return BrokenJournal(file.name, number, f"line {found.seq} is not the one that was written")
            end = found
    return end


def _against_head(path: Path, end: ChainLink, head: ChainLink | None, dropped: int) -> IntactJournal | BrokenJournal:
    if head is None:
        return _without_head(path) if end != START or _is_spoiled(path) else IntactJournal(0)
    if head.seq > end.seq:
        return BrokenJournal(path.name, 0, f"the lines from {end.seq + 1} to {head.seq} are missing at the end")
    if head.seq == end.seq and head.hash != end.hash:
        return BrokenJournal(path.name, 0, f"line {end.seq} at the end is not the one that was written")
    return IntactJournal(end.seq - dropped, dropped)


def _is_spoiled(path: Path) -> bool:
    """Whether there is a head file, if it is known to hold nothing of ours."""
    return os.path.lexists(head_file(path))


def _without_head(path: Path) -> BrokenJournal:
    lost = "was emptied or written over" if _is_spoiled(path) else "is gone"
    return BrokenJournal(head_file(path).name, 0, f"it {lost}, so nobody can tell whether lines are missing at the end")


def tail(path: Path, count: int) -> list[Raw]:
    """The last lines, oldest first."""
    path = path.resolve()
    if not path.parent.is_dir():
        return []
    found: list[bytes] = []
    with _at_rest(path):
        for file in reversed(files(path)):
            if len(found) < count:
                found = _last_lines(file, count - len(found)) + found
    return [Raw(line) for line in found]


def find(path: Path, id: str) -> Raw | None:
    """The newest line with this id, or the line with this number."""
    path = path.resolve()
    by_id, by_number = b'"id":%b' % msgspec.json.encode(id), b'{"seq":%b,' % id.encode()
    for file in reversed(files(path)):
        try:
            with open_plain(file) as stream:
                found = [line for line in _lines(stream) if by_id in line or line.startswith(by_number)]
        except FileNotFoundError:  # renamed meanwhile, by a rotation
            continue
        if found:
            return Raw(found[-1])
    return None


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _number(link: ChainLink) -> int:
    return link.seq


def _lock(path: Path) -> Path:
    return path.with_suffix(".lock")


def _state(descriptor: int) -> tuple[int, int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino, status.st_size


def _lines(stream: BinaryIO, size: int | None = None) -> Iterator[bytes]:
    """Lines without their ends, of the first `size` bytes. An overlong one comes in pieces that can pass no check."""
    rest = size if size is not None else os.fstat(stream.fileno()).st_size
    while rest > 0 and (line := stream.readline(min(rest, MAX_LINE_BYTES))):
        rest -= len(line)
        yield line.removesuffix(b"\n")


def _last_lines(file: Path, count: int) -> list[bytes]:
    with open_plain(file) as stream:
        end = _end_of(stream.fileno(), count + 1, MAX_LINE_BYTES * count)
    return end.removesuffix(b"\n").split(b"\n")[-count:] if end else []


def _last_line(descriptor: int) -> bytes:
    return _end_of(descriptor, 2, MAX_LINE_BYTES).removesuffix(b"\n").rpartition(b"\n")[2]


def _end_of(descriptor: int, breaks: int, most: int) -> bytes:
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
    whole = _whole(descriptor)
    if whole < os.fstat(descriptor).st_size:
        os.ftruncate(descriptor, whole)


def _whole(descriptor: int) -> int:
    """The size of the file without such a line."""
    end = _end_of(descriptor, 1, MAX_LINE_BYTES)
    return os.fstat(descriptor).st_size - (len(end) - (end.rfind(b"\n") + 1))


def _drop(file: Path, path: Path) -> None:
    """The base is written first: if we are killed in between, the file is passed over, and goes the next time."""
    with open_plain(file) as stream:
        last = read_link(_last_line(stream.fileno()))
    if last is not None:
        link_file.write(base_file(path), last)
    file.unlink()


def _is_dropped(file: Path, base: ChainLink) -> bool:
    """A full file has the number of its last line in its name."""
    number = file.stem.rpartition("-")[2]
    return number.isdigit() and int(number) <= base.seq

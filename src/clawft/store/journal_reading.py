"""Reading a journal: is every line as it was written, and where is the one with this id."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Raw, Struct

from clawft.store import link_file
from clawft.store.chain import START, ChainLink, check
from clawft.store.file_locks import locked
from clawft.store.journal import MAX_LINE_BYTES, full_files, is_spoiled, lock_of, whole_size
from clawft.store.link_file import base_file, head_file
from clawft.store.private_files import open_plain

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


def files(path: Path) -> list[Path]:
    """The journal's files, oldest first."""
    older = full_files(path)
    return [*older, path] if path.exists() else older


def verify(path: Path) -> IntactJournal | BrokenJournal:
    """Follow the chain from its first line to its last. What is appended meanwhile is left for the next time."""
    path = path.resolve()
    if not path.parent.is_dir():
        return IntactJournal(0)
    with ExitStack() as opened:
        with at_rest(path):
            head, base = link_file.read(head_file(path)), _base(path)
            full = [file for file in full_files(path) if not _is_dropped(file, base)]
            newest = opened.enter_context(open_plain(path)) if path.exists() else None
            size = whole_size(newest.fileno()) if newest is not None else 0
        parts = _one_by_one(full) if newest is None else chain(_one_by_one(full), [(path, newest, size)])
        try:
            end = _follow(parts, base, head)
        except FileNotFoundError:
            if _base(path) == base:
                raise
            return verify(path)  # the oldest had to make room meanwhile
    return end if isinstance(end, BrokenJournal) else _against_head(path, end, head, base.seq)


@contextmanager
def at_rest(path: Path) -> Generator[None]:
    """While nobody writes; where the disk is read-only, nobody can."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(lock_of(path)))
        except OSError as failed:
            if failed.errno != errno.EROFS:
                raise
        yield


def _one_by_one(full: Sequence[Path]) -> Iterator[_Part]:
    """The parts one by one, as there may be more files than a process may have open."""
    for file in full:
        with open_plain(file) as stream:
            yield file, stream, whole_size(stream.fileno())


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
        return _without_head(path) if end != START or is_spoiled(path) else IntactJournal(0)
    if head.seq > end.seq:
        return BrokenJournal(path.name, 0, f"the lines from {end.seq + 1} to {head.seq} are missing at the end")
    if head.seq == end.seq and head.hash != end.hash:
        return BrokenJournal(path.name, 0, f"line {end.seq} at the end is not the one that was written")
    return IntactJournal(end.seq - dropped, dropped)


def _without_head(path: Path) -> BrokenJournal:
    lost = "was emptied or written over" if is_spoiled(path) else "is gone"
    return BrokenJournal(head_file(path).name, 0, f"it {lost}, so nobody can tell whether lines are missing at the end")


def _is_dropped(file: Path, base: ChainLink) -> bool:
    """A full file has the number of its last line in its name."""
    number = file.stem.rpartition("-")[2]
    return number.isdigit() and int(number) <= base.seq


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


def _lines(stream: BinaryIO, size: int | None = None) -> Iterator[bytes]:
    """Lines without their ends, of the first `size` bytes. An overlong one comes in pieces that can pass no check."""
    rest = size if size is not None else os.fstat(stream.fileno()).st_size
    while rest > 0 and (line := stream.readline(min(rest, MAX_LINE_BYTES))):
        rest -= len(line)
        yield line.removesuffix(b"\n")

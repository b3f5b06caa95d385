"""The last lines of a journal, the newest first, and those that are added while somebody looks."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from clawft.store.journal import MAX_LINE_BYTES, full_files, whole_size
from clawft.store.journal_reading import at_rest, files
from clawft.store.private_files import open_plain

_BLOCK = 64 * 1024


class JournalTail:
    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._read: dict[int, int] = {}
        """File, by its number (its name changes when it is full) → how much of it was there when we looked last."""

    def newest_first(self) -> Generator[bytes]:
        """The lines there are now."""
        if not self._path.parent.is_dir():
            return
        with ExitStack() as opened:
            with at_rest(self._path):
                self._read = {number: size for _, number, size in self._files()}
                full = full_files(self._path)
                newest = opened.enter_context(open_plain(self._path)) if self._path.exists() else None
                size = self._keep_whole(newest) if newest is not None else 0
            if newest is not None:
                yield from _backwards(newest, size)
            for file in reversed(full):
                try:
                    stream = opened.enter_context(open_plain(file))
                except FileNotFoundError:  # the oldest had to make room meanwhile
                    return
                yield from _backwards(stream, os.fstat(stream.fileno()).st_size)  # it may have another name by now
                stream.close()

    def added(self) -> list[bytes]:
        """The lines that came since, or since this was asked last; the oldest first."""
        if not any(self._read.get(number) != size for _, number, size in self._files()):
            return []
        with at_rest(self._path):
            return [line for file, number, size in self._files() for line in self._behind(file, number, size)]

    def _files(self) -> Iterator[tuple[Path, int, int]]:
        """Each with its number and its size."""
        for file in files(self._path):
            with suppress(FileNotFoundError):  # it got another name, or had to make room
                status = file.stat()
                yield file, status.st_ino, status.st_size

    def _behind(self, file: Path, number: int, size: int) -> list[bytes]:
        """The lines behind the part that was read; all there are in a file that is shorter than that by now."""
        begin = self._read.get(number, 0)
        if begin == size:
            return []
        with open_plain(file) as stream:
            end = self._keep_whole(stream)
            stream.seek(begin if begin < end else 0)
            return stream.read(end - stream.tell()).splitlines()

    def _keep_whole(self, stream: BufferedReader) -> int:
        """How much of it counts: the process that wrote its last line may have been killed."""
        size = self._read[os.fstat(stream.fileno()).st_ino] = whole_size(stream.fileno())
        return size


def _backwards(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """The lines of its first `size` bytes, from the last to the first. An overlong one comes in pieces."""
    rest = b""
    while size > 0:
        length = min(_BLOCK, size)
        size -= length
        stream.seek(size)
        rest, *lines = (stream.read(length) + rest).split(b"\n")
        yield from filter(None, reversed(lines))
        if len(rest) > MAX_LINE_BYTES:
            yield rest
            rest = b""
    if rest:
        yield rest

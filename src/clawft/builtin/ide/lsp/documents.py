"""The texts a language server has from us, with their versions, and whether they match the disk."""

import codecs
import os
from collections import OrderedDict

from clawft.builtin.ide.model import Buffer
from clawft.errors import IdeFailed, IdeFileNotFound

MAX_OPEN = 100
"""Texts kept open at a server; the least recently used is closed first, unless it is unsaved."""
MAX_BYTES = 4 * 1024 * 1024


class TextDocument:
    """One text. `seen` is the state of the file on disk that it was last compared with.

    `told` is the version number the server has; it grows with `version`, and also when a text is sent again unchanged.
    """

    __slots__ = ("dirty", "path", "seen", "text", "told", "version")

    def __init__(self, path: str, text: str, seen: tuple[int, int]) -> None:
        self.path = path
        self.text = text
        self.seen = seen
        self.version = self.told = 1
        self.dirty = False

    @property
    def is_overtaken(self) -> bool:
        """Whether it is unsaved and its file was written by others since."""
        return self.dirty and _stamp_if_there(self.path) not in (None, self.seen)

    def buffer(self, *, with_text: bool = False) -> Buffer:
        return Buffer(self.path, self.version, self.dirty, self.text if with_text else None)


class Documents:
    def __init__(self) -> None:
        self._open: OrderedDict[str, TextDocument] = OrderedDict()

    def get(self, path: str) -> TextDocument | None:
        found = self._open.get(path)
        if found is not None:
            self._open.move_to_end(path)
        return found

    def add(self, document: TextDocument) -> list[TextDocument]:
        """Add a document; returns those that were closed to make room."""
        self._open[document.path] = document
        clean = [each for each in self._open.values() if not each.dirty and each is not document]
        gone = clean[: max(0, len(self._open) - MAX_OPEN)]
        for each in gone:
            del self._open[each.path]
        return gone

    def drop(self, path: str) -> None:
        self._open.pop(path, None)

    def all(self) -> list[TextDocument]:
        return list(self._open.values())


def exists(path: str) -> bool:
    return os.path.isfile(path)


def stamp(path: str) -> tuple[int, int]:
    """The time and size of the file. Raises IdeFileNotFound."""
    found = _stamp_if_there(path)
    if found is None:
        raise IdeFileNotFound(path)
    return found


def _stamp_if_there(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def read(path: str) -> str:
    """The text on disk, with its line ends. Raises IdeFailed if it is no text, or too large.

    A byte order mark is left out: editors do not count it as a letter either.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        raise IdeFileNotFound(path) from None
    if len(data) > MAX_BYTES:
        raise IdeFailed(f"'{path}' is larger than {MAX_BYTES} bytes", hint="use file__read")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise IdeFailed(f"'{path}' is not UTF-8 text") from None


def has_mark(path: str) -> bool:
    """Whether the file begins with a byte order mark, which is kept when it is written."""
    try:
        with open(path, "rb") as file:
            return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    except OSError:
        raise IdeFileNotFound(path) from None

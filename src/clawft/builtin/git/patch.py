"""Parses the output of `git diff --raw -z --patch` while it comes: files from its raw part, lines from its patch. Pure.

Names come from the raw part, which never quotes; the patch only adds hunks, section by section in the same order. A
commit of a few kilobytes can have a patch of millions of lines. So only one page is kept, and git is stopped when the
page is full and the rest has become long.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawft.builtin.file_names import escaped_bytes
from clawft.builtin.git.hunks import Hunk, HunkPieces
from clawft.builtin.git.page import shorten
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.settings import BOUNDS

STATUS = {
    "A": "Added",
    "C": "Copied",
    "D": "Deleted",
    "M": "Modified",
    "R": "Renamed",
    "T": "TypeChanged",
    "U": "Unmerged",
}
SECTIONS = {"U": 0, "T": 2}
"""Sections of a file in the patch: two for a change of type, a deletion and an addition; none if it is unmerged."""
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)


class FileDiff(Struct):
    """A file that differs. Its counts are set when its part of the patch is read."""

    status: str
    old_file: str | None
    new_file: str | None
    name: bytes
    """The bytes git has."""
    first: int = 0
    """The number of its first unit."""
    additions: int = 0
    deletions: int = 0
    binary: bool = False


class DiffSlice(Struct, frozen=True):
    """The wanted part of all pieces of hunks; without `context`, of files only."""

    context: int | None
    skip: int
    limit: int
    counts_bytes: int
    """How much of git's output is read only to count the rest."""


class DiffUnit(Struct, frozen=True):
    """An item of a page: a piece of a file's hunks, or a file that has none to show."""

    file: int
    number: int
    piece: Hunk | None = None


class DiffReading:
    """The units of one page, and the totals."""

    def __init__(self, wanted: DiffSlice, room: int = BOUNDS.page_bytes) -> None:
        self.wanted = wanted
        self.files: list[FileDiff] = []
        """The first files; units of others are not on this page."""
        self.units: list[DiffUnit] = []
        self.sections = bytearray()
        """For each file, how many sections it has in the patch."""
        self.additions = self.deletions = 0
        self.after: DiffUnit | None = None
        """The first unit that does not fit on the page."""
        self._room = room
        self._raw: _RawPart | None = _RawPart(self)
        self._lines = _Lines()
        self._patch = _PatchPart(self)
        self._bytes = 0

    def feed(self, data: bytes) -> bool:
        """Take the next output of git; True if no more is needed."""
        self._bytes += len(data)
        if self._raw is not None:
            rest = self._raw.feed(data)
            if rest is None:
                return False
            self._raw, data = None, rest
        for line in self._lines.feed(data):
            self._patch.take(line)
        return self._bytes > self.wanted.counts_bytes and self._is_complete()

    def _is_complete(self) -> bool:
        """Whether the page is complete, with the counts of its last file."""
        return self.after is not None and self._patch.is_past(self.units[-1].file)

    def end(self) -> None:
        """The output of git has ended."""
        for line in self._lines.end():
            self._patch.take(line)
        self._patch.end()

    def add(self, unit: DiffUnit) -> None:
        if unit.number < self.wanted.skip or self.after is not None:
            return
        if len(self.units) >= self.wanted.limit or self._room <= 0:
            self.after = unit
            return
        self.units.append(unit)
        self._room -= 0 if unit.piece is None else sum(map(len, unit.piece.lines))

    def most_files(self) -> int:
        """The most files a page can have, as each has one unit or more."""
        return self.wanted.skip + self.wanted.limit + 1

    def start_of(self, unit: DiffUnit) -> tuple[bytes, int]:
        """The start of a page that begins with this unit: a file's name, and how many units from there."""
        file = unit.file
        while file and self.files[file - 1].name == self.files[file].name:  # a file with conflicts is listed twice
            file -= 1
        return self.files[file].name, unit.number - self.files[file].first


class _RawPart:
    """Parses `:100644 100644 <id> <id> R086`, then one or two names, each with a null byte; another null ends all."""

    def __init__(self, shown: DiffReading) -> None:
        self._shown = shown
        self._held = b""
        self._head = b""
        self._names: list[bytes] = []

    def feed(self, data: bytes) -> bytes | None:
        """The data behind the raw part, once that is over."""
        words = (self._held + data).split(b"\0")
        self._held = words.pop()
        for at, word in enumerate(words):
            if not word:
                return b"\0".join([*words[at + 1 :], self._held])
            self._take(word)
        return None

    def _take(self, word: bytes) -> None:
        if not self._head:
            self._head = word
            return
        self._names.append(word)
        letter = self._head.split(b" ")[4][:1]
        if len(self._names) == 1 + (letter in b"RC"):
            self._add(letter.decode())
            self._head, self._names = b"", []

    def _add(self, letter: str) -> None:
        shown, first, last = self._shown, self._names[0], self._names[-1]
        shown.sections.append(SECTIONS.get(letter, 1))
        if len(shown.files) < shown.most_files():
            old, new = (
                (None if letter == "A" else escaped_bytes(first)),
                (None if letter == "D" else escaped_bytes(last)),
            )
            shown.files.append(FileDiff(STATUS[letter], old, new, last))


class _PatchPart:
    """Parses the patch section by section; sections of files that are not kept are only counted."""

    def __init__(self, shown: DiffReading) -> None:
        self._shown = shown
        self._file = -1
        self._sections = 0
        """Sections of this file that are still to come."""
        self._units = 0
        self._own_units = 0
        """Units of this file; the counts are of this file, too."""
        self._added = self._deleted = 0
        self._binary = False
        self._left = self._right = 0
        self._hunk: HunkPieces | None = None
        self._in_hunk = False

    def is_past(self, file: int) -> bool:
        return self._file > file

    def take(self, line: bytes) -> None:
        if self._left > 0 or self._right > 0 or (self._in_hunk and line.startswith(b"\\")):
            self._take_content(line)
            return
        self._end_hunk()
        if line.startswith(b"diff --git "):
            self._begin_section()
        elif line.startswith(b"@@ ") and (found := _HUNK.fullmatch(line)):
            self._begin_hunk(found)
        elif line.startswith((b"Binary files ", b"GIT binary patch")):
            self._binary = True

    def end(self) -> None:
        """Finish the remaining files, which have no section."""
        self._end_hunk()
        self._end_file()
        while self._file + 1 < len(self._shown.sections):
            self._next_file()
            self._end_file()

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _begin_section(self) -> None:
        while self._sections == 0:
            self._end_file()
            self._next_file()
        self._sections -= 1

    def _next_file(self) -> None:
        self._file += 1
        sections = self._shown.sections
        self._sections = sections[self._file] if self._file < len(sections) else 1
        self._own_units = self._added = self._deleted = 0
        self._binary = False
        if kept := self._kept():
            kept.first = self._units

    def _end_file(self) -> None:
        if self._file < 0:
            return
        if not self._own_units:
            self._add(None)
        if self._binary:
            self._added = self._deleted = 0
        self._shown.additions += self._added
        self._shown.deletions += self._deleted
        if kept := self._kept():
            kept.additions, kept.deletions, kept.binary = self._added, self._deleted, self._binary

    def _kept(self) -> FileDiff | None:
        files = self._shown.files
        return files[self._file] if 0 <= self._file < len(files) else None

    # ── hunks ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _begin_hunk(self, found: re.Match[bytes]) -> None:
        self._left, self._right = int(found[2] or 1), int(found[4] or 1)
        self._in_hunk = True
        if self._shown.wanted.context is not None and self._shown.after is None:
            empty = Hunk(
                int(found[1]), self._left, int(found[3]), self._right, decoded(found[5]).removesuffix("\r"), []
            )
            self._hunk = HunkPieces(empty)

    def _take_content(self, line: bytes) -> None:
        """The lines of a hunk are counted, so that none of them is taken for a header."""
        sign = line[:1]
        if sign == b"-":
            self._left -= 1
            self._deleted += 1
        elif sign == b"+":
            self._right -= 1
            self._added += 1
        elif sign == b" ":
            self._left -= 1
            self._right -= 1
        if self._hunk is not None and (piece := self._hunk.add(shorten(decoded(line)))):
            self._add(piece)

    def _end_hunk(self) -> None:
        self._in_hunk = False
        if self._hunk is not None:
            self._add(self._hunk.end())
            self._hunk = None

    def _add(self, piece: Hunk | None) -> None:
        self._shown.add(DiffUnit(self._file, self._units, piece))
        self._units += 1
        self._own_units += 1


class _Lines:
    """Splits data into lines without their ends, keeping only a bounded part of a line that is too long."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        first, *others = data.split(b"\n")
        self._hold(first)
        if others:
            yield bytes(self._held)
            yield from others[:-1]
            self._held = bytearray(others[-1])

    def end(self) -> Iterator[bytes]:
        if self._held:
            yield bytes(self._held)

    def _hold(self, part: bytes) -> None:
        self._held += part[: BOUNDS.output_bytes - len(self._held)]

"""Reading what `git diff` prints: files from its raw part, lines from its patch. Pure.

Names come from the raw part, which never quotes; the patch only adds hunks, section by section in the same order. A
commit of a few kilobytes can have a patch of millions of lines, so it is read line by line, and of its hunks only those
are kept that the page asked for has room for.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO

import msgspec
from msgspec import Struct

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
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)


class Hunk(Struct, frozen=True):
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    heading: str
    lines: list[str]
    """Each begins with ` `, `-`, `+`, or with `\\` for a note of git's."""


class FileDiff(Struct, frozen=True):
    """One file that differs."""

    status: str
    old_file: str | None
    new_file: str | None
    additions: int = 0
    deletions: int = 0
    binary: bool = False


class DiffSlice(Struct, frozen=True):
    """Which part of a long list of files and pieces of their hunks; without `context`, of files alone."""

    context: int | None
    offset: int
    limit: int


class DiffPage:
    """What is wanted of it, as far as one page has room."""

    def __init__(self, wanted: DiffSlice, room: int = BOUNDS.page_bytes) -> None:
        self.wanted = wanted
        self.files: list[FileDiff] = []
        """All of them."""
        self.units: list[tuple[int, Hunk | None]] = []
        """The number of a file, and a piece of it if it has any."""
        self.count = 0
        """How many units there are in the whole list."""
        self._room = room

    def add(self, file: int, piece: Hunk | None = None) -> None:
        if 0 <= self.count - self.wanted.offset < self.wanted.limit and self._room > 0:
            self.units.append((file, piece))
            self._room -= 0 if piece is None else sum(map(len, piece.lines))
        self.count += 1


def parse_patch(said: bytes, wanted: DiffSlice) -> DiffPage:
    """`git diff --raw -z --patch`."""
    shown = DiffPage(wanted)
    raw, _, patch = said.partition(b"\0\0") if said.startswith(b":") else (b"", b"", said)
    lines = _Lines(patch)
    for number, each in enumerate(_files(iter(raw.split(b"\0")))):
        shown.files.append(_with_lines(each, number, lines, shown))
    return shown


def parse_counts(said: bytes, wanted: DiffSlice) -> DiffPage:
    """`git diff --raw -z --numstat`."""
    shown = DiffPage(wanted)
    words = said.split(b"\0")
    end = _raw_end(words)
    shown.files = _counted(list(_files(iter(words[:end]))), list(_counts(iter(words[end:]))))
    for number in range(len(shown.files)):
        shown.add(number)
    return shown


# ── the raw part ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _files(words: Iterator[bytes]) -> Iterator[FileDiff]:
    """`:100644 100644 <id> <id> R086`, then one name or two."""
    for word in words:
        if word.startswith(b":"):
            letter = chr(word.split(b" ")[4][0])
            first = decoded(next(words))
            second = decoded(next(words)) if letter in "RC" else first
            yield FileDiff(STATUS[letter], None if letter == "A" else first, None if letter == "D" else second)


def _raw_end(words: Sequence[bytes]) -> int:
    """Where the raw part ends. It is counted through, as a name may look like anything."""
    at = 0
    while words[at].startswith(b":"):
        at += 3 if words[at].split(b" ")[4][:1] in b"RC" else 2
    return at


# ── counts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _counts(words: Iterator[bytes]) -> Iterator[tuple[str, int, int, bool]]:
    """`12\\t3\\tname`, or `12\\t3\\t` and two names; `-` for what is binary."""
    for word in words:
        if not word:
            continue
        added, deleted, name = word.split(b"\t", 2)
        if not name:
            next(words)
            name = next(words)
        binary = added == b"-"
        yield decoded(name), 0 if binary else int(added), 0 if binary else int(deleted), binary


def _counted(files: Sequence[FileDiff], counts: Sequence[tuple[str, int, int, bool]]) -> list[FileDiff]:
    by_name = {name: numbers for name, *numbers in counts}
    found: list[FileDiff] = []
    for each in files:
        added, deleted, binary = by_name.get(each.new_file or each.old_file or "", (0, 0, False))
        found.append(msgspec.structs.replace(each, additions=int(added), deletions=int(deleted), binary=bool(binary)))
    return found


# ── the patch ────────────────────────────────────────────────────────────────────────────────────────────────────────


SECTIONS = {"Unmerged": 0, "TypeChanged": 2}
"""A change of type is told as a deletion and an addition; of what is unmerged there is nothing to tell."""


class _Lines:
    """One line after the other, with a look at the next."""

    def __init__(self, patch: bytes) -> None:
        self._rest = BytesIO(patch)
        self.next = self._rest.readline()
        """With its end; nothing behind the last."""

    def take(self) -> bytes:
        line = self.next
        self.next = self._rest.readline()
        return line.removesuffix(b"\n")

    def in_section(self) -> bool:
        return bool(self.next) and not self.next.startswith(b"diff --git ")


class _Tally(Struct):
    additions: int = 0
    deletions: int = 0
    pieces: int = 0
    binary: bool = False


def _with_lines(changed: FileDiff, number: int, lines: _Lines, shown: DiffPage) -> FileDiff:
    tally = _Tally()
    for _ in range(SECTIONS.get(changed.status, 1)):
        for piece in _section(lines, tally):
            tally.pieces += 1
            shown.add(number, piece)
    if not tally.pieces:
        shown.add(number)
    added, deleted = (0, 0) if tally.binary else (tally.additions, tally.deletions)
    return msgspec.structs.replace(changed, additions=added, deletions=deleted, binary=tally.binary)


def _section(lines: _Lines, tally: _Tally) -> Iterator[Hunk]:
    """What stands below one `diff --git`."""
    while lines.in_section():
        lines.take()
    lines.take()
    while lines.in_section():
        line = lines.take()
        found = _HUNK.fullmatch(line)
        if found is not None:
            empty = Hunk(int(found[1]), int(found[2] or 1), int(found[3]), int(found[4] or 1), decoded(found[5]), [])
            yield from pieces(empty, _lines_of(empty, lines, tally))
        elif line.startswith((b"Binary files ", b"GIT binary patch")):
            tally.binary = True


def _lines_of(hunk: Hunk, lines: _Lines, tally: _Tally) -> Iterator[str]:
    """Those of one hunk. They are counted, so none of them is taken for something else."""
    left, right = hunk.old_lines, hunk.new_lines
    while lines.next and (left > 0 or right > 0 or lines.next.startswith(b"\\")):
        line = lines.take()
        sign = line[:1]
        left -= sign in (b" ", b"-")
        right -= sign in (b" ", b"+")
        tally.deletions += sign == b"-"
        tally.additions += sign == b"+"
        yield shorten(decoded(line))


# ── long hunks ───────────────────────────────────────────────────────────────────────────────────────────────────────


def pieces(hunk: Hunk, lines: Iterable[str], most: int = BOUNDS.piece_bytes) -> Iterator[Hunk]:
    """A hunk with these lines. A long one in several that say the same, each with its true line numbers."""
    old, new, size = hunk.old_start, hunk.new_start, 0
    part: list[str] = []
    for line in lines:
        if part and size + len(line) > most:
            yield (piece := _piece(hunk, old, new, part))
            old, new, size, part = old + piece.old_lines, new + piece.new_lines, 0, []
        part.append(line)
        size += len(line)
    yield _piece(hunk, old, new, part)


def _piece(hunk: Hunk, old: int, new: int, lines: list[str]) -> Hunk:
    removed = sum(line[:1] in (" ", "-") for line in lines)
    added = sum(line[:1] in (" ", "+") for line in lines)
    return Hunk(old, removed, new, added, hunk.heading, lines)

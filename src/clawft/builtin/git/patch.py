"""Reading what `git diff` prints: files from its raw part, lines from its patch. Pure.

Names come from the raw part, which never quotes; the patch only adds hunks, section by section in the same order.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
from msgspec import Struct

from clawft.builtin.git.page import shorten, text
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


class Changed(Struct, frozen=True):
    """One file that differs."""

    status: str
    old_file: str | None
    new_file: str | None
    additions: int = 0
    deletions: int = 0
    binary: bool = False
    hunks: list[Hunk] = []


def parse_patch(said: bytes) -> list[Changed]:
    """`git diff --raw -z --patch`."""
    raw, _, patch = said.partition(b"\0\0") if said.startswith(b":") else (b"", b"", said)
    sections = _sections(patch.split(b"\n"))
    return [_with_lines(each, sections) for each in _files(iter(raw.split(b"\0")))]


def parse_counts(said: bytes) -> list[Changed]:
    """`git diff --raw -z --numstat`."""
    words = said.split(b"\0")
    end = _raw_end(words)
    return _counted(list(_files(iter(words[:end]))), list(_counts(iter(words[end:]))))


def pieces(hunks: Sequence[Hunk], most: int = BOUNDS.piece_bytes) -> list[Hunk]:
    """The same hunks, long ones in several."""
    return [piece for hunk in hunks for piece in _split(hunk, most)]


# ── the raw part ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _files(words: Iterator[bytes]) -> Iterator[Changed]:
    """`:100644 100644 <id> <id> R086`, then one name or two."""
    for word in words:
        if word.startswith(b":"):
            letter = chr(word.split(b" ")[4][0])
            first = text(next(words))
            second = text(next(words)) if letter in "RC" else first
            yield Changed(STATUS[letter], None if letter == "A" else first, None if letter == "D" else second)


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
        yield text(name), 0 if binary else int(added), 0 if binary else int(deleted), binary


def _counted(files: Sequence[Changed], counts: Sequence[tuple[str, int, int, bool]]) -> list[Changed]:
    by_name = {name: numbers for name, *numbers in counts}
    found: list[Changed] = []
    for each in files:
        added, deleted, binary = by_name.get(each.new_file or each.old_file or "", (0, 0, False))
        found.append(msgspec.structs.replace(each, additions=int(added), deletions=int(deleted), binary=bool(binary)))
    return found


# ── the patch ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Section(Struct):
    hunks: list[Hunk] = []
    additions: int = 0
    deletions: int = 0
    binary: bool = False


def _sections(lines: Sequence[bytes]) -> Iterator[_Section]:
    """What stands below each `diff --git`. Lines of hunks are counted, so none of them is taken for something else."""
    section: _Section | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith(b"diff --git "):
            if section is not None:
                yield section
            section = _Section()
        elif section is not None and line.startswith(b"@@ "):
            at = _hunk(section, line, lines, at)
        elif section is not None and line.startswith((b"Binary files ", b"GIT binary patch")):
            section.binary = True
    if section is not None:
        yield section


def _hunk(section: _Section, head: bytes, lines: Sequence[bytes], at: int) -> int:
    """Read one hunk that begins at line `at`; returns where it ends."""
    found = _HUNK.fullmatch(head)
    if found is None:
        return at
    old, new = int(found[2] or 1), int(found[4] or 1)
    left, right, begin = old, new, at
    while left > 0 or right > 0:
        sign = lines[at][:1]
        left -= sign in (b" ", b"-")
        right -= sign in (b" ", b"+")
        section.deletions += sign == b"-"
        section.additions += sign == b"+"
        at += 1
    if lines[at][:1] == b"\\":
        at += 1
    told = [shorten(text(line)) for line in lines[begin:at]]
    section.hunks.append(Hunk(int(found[1]), old, int(found[3]), new, text(found[5]), told))
    return at


def _with_lines(changed: Changed, sections: Iterator[_Section]) -> Changed:
    """A change of type is told as a deletion and an addition; of what is unmerged there is nothing to tell."""
    count = {"Unmerged": 0, "TypeChanged": 2}.get(changed.status, 1)
    own = list(islice(sections, count))
    binary = any(section.binary for section in own)
    return msgspec.structs.replace(
        changed,
        additions=0 if binary else sum(section.additions for section in own),
        deletions=0 if binary else sum(section.deletions for section in own),
        binary=binary,
        hunks=[hunk for section in own for hunk in section.hunks],
    )


# ── long hunks ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _split(hunk: Hunk, most: int) -> Iterator[Hunk]:
    """Consecutive hunks that say the same, each with its true line numbers."""
    if sum(map(len, hunk.lines)) <= most:
        yield hunk
        return
    old, new, size = hunk.old_start, hunk.new_start, 0
    part: list[str] = []
    for line in hunk.lines:
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

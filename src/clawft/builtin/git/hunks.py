"""Splits long hunks of a patch into equivalent pieces. Pure."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from clawft.builtin.git.settings import BOUNDS


class Hunk(Struct, frozen=True):
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    heading: str
    lines: list[str]
    """Each begins with ` `, `-` or `+`, or with `\\` for a note of git."""


class HunkPieces:
    """Takes the lines of a hunk; gives a piece whenever enough lines have come."""

    def __init__(self, hunk: Hunk, most: int = BOUNDS.piece_bytes) -> None:
        self._hunk, self._most = hunk, most
        self._old, self._new, self._size = hunk.old_start, hunk.new_start, 0
        self._part: list[str] = []
        self._tells_all = not (hunk.old_lines and hunk.new_lines)
        """Whether pieces handle changed line ends by themselves: there are none where lines only come, or only go."""

    def add(self, line: str) -> Hunk | None:
        done = self._cut() if self._part and self._size + len(line) > self._most else None
        self._part.append(line)
        self._size += len(line)
        return done

    def end(self) -> Hunk:
        is_whole = (self._old, self._new) == (self._hunk.old_start, self._hunk.new_start)
        return self._piece(is_whole or self._tells_all)

    def _cut(self) -> Hunk:
        piece = self._piece(self._tells_all)
        self._old, self._new = self._old + piece.old_lines, self._new + piece.new_lines
        self._part, self._size = [], 0
        return piece

    def _piece(self, tells_all: bool) -> Hunk:
        removed = sum(line[:1] in (" ", "-") for line in self._part)
        added = sum(line[:1] in (" ", "+") for line in self._part)
        lines = without_ends(self._part) if tells_all else self._part
        return Hunk(self._old, removed, self._new, added, self._hunk.heading, lines)


def without_ends(lines: list[str]) -> list[str]:
    """The lines without carriage returns, if all lines with an end have one, so that no change is about these."""
    if not any(line.endswith("\r") for line in lines[:3]):
        return lines
    noted = [*(line.startswith("\\") for line in lines[1:]), False]  # a note says that the line before has no line end
    ended = [not (note or line.startswith("\\")) for line, note in zip(lines, noted, strict=False)]
    if not all(line.endswith("\r") for line, end in zip(lines, ended, strict=True) if end):
        return lines
    return [line[:-1] if end else line for line, end in zip(lines, ended, strict=True)]


def pieces(hunk: Hunk, lines: Iterable[str], most: int = BOUNDS.piece_bytes) -> Iterator[Hunk]:
    """The hunk, or if it is long several that say the same, each with its true line numbers."""
    collector = HunkPieces(hunk, most)
    for line in lines:
        if (piece := collector.add(line)) is not None:
            yield piece
    yield collector.end()

"""Exact places in a text: converts UTF-16 positions and offsets, applies edits, finds anchors. Nothing is clamped."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from clawft.builtin.ide.model import Buffer, FileEdit, Position, Range, TextEdit
from clawft.errors import IdeFailed

MAX_NAMED = 5


def lines_of(text: str) -> list[str]:
    """Lines with their ends, as editors count them: only \\n, \\r\\n and \\r end a line."""
    lines: list[str] = []
    start = at = 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter == "\r" and text[at : at + 1] == "\n":
            at += 1
        if letter in "\r\n":
            lines.append(text[start:at])
            start = at
    return [*lines, text[start:]]


def units(text: str) -> int:
    """The length of the text in UTF-16 units."""
    return len(text) + sum(letter > "\uffff" for letter in text)


class TextMap:
    """A text with its lines, for repeated conversions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True) if _plain(text) else lines_of(text)
        if _plain(text) and (not text or text.endswith(("\n", "\r"))):
            self._lines.append("")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def offset(self, position: Position) -> int:
        """The offset of a position. Raises IdeFailed if it is past the end, or inside a surrogate pair."""
        if position.line >= len(self._lines):
            raise bad_range(f"line {position.line} is not there: the file has {len(self._lines)} lines")
        content = self._lines[position.line].rstrip("\r\n")
        return self._starts[position.line] + _index(content, position)

    def position(self, offset: int) -> Position:
        line = min(bisect_right(self._starts, offset) - 1, len(self._lines) - 1)
        return Position(line, units(self.text[self._starts[line] : offset]))

    def piece(self, place: Range) -> str:
        return self.text[slice(*self.span(place))]

    def span(self, place: Range) -> tuple[int, int]:
        start, end = self.offset(place.start), self.offset(place.end)
        if end < start:
            raise bad_range("the range ends before it starts")
        return start, end

    def end(self) -> Position:
        return self.position(len(self.text))

    def whole(self) -> Range:
        return Range(Position(0, 0), self.end())


def _plain(text: str) -> bool:
    """Whether Python and editors agree on the line ends of this text."""
    return text.isascii() and not any(letter in text for letter in "\v\f\x1c\x1d\x1e")


def _index(line: str, position: Position) -> int:
    if line.isascii():
        if position.character > len(line):
            raise _past(position, len(line))
        return position.character
    passed = 0
    for index, letter in enumerate(line):
        if passed == position.character:
            return index
        passed += 2 if letter > "\uffff" else 1
        if passed > position.character:
            raise bad_range(f"character {position.character} of line {position.line} is inside of '{letter}'")
    if passed != position.character:
        raise _past(position, passed)
    return len(line)


def _past(position: Position, length: int) -> IdeFailed:
    return bad_range(f"character {position.character} is not there: line {position.line} has {length}")


def bad_range(message: str) -> IdeFailed:
    return IdeFailed(
        message, kind="bad_range", hint="lines and characters count from 0, in UTF-16 units; or name an anchor text"
    )


def apply(text: str, edits: Sequence[TextEdit]) -> str:
    """The text after all edits, whose places are those before any of them. Raises IdeFailed if two overlap."""
    places = TextMap(text)
    spans = sorted(((*places.span(edit.range), at, edit.new_text) for at, edit in enumerate(edits)))
    result: list[str] = []
    done = 0
    for start, end, _, new_text in spans:
        if start < done:
            raise bad_range("two of the edits overlap")
        result += text[done:start], new_text
        done = end
    return "".join([*result, text[done:]])


def rewritten(path: str, before: Buffer, text: str) -> FileEdit:
    """A change of the whole text, if that has not changed meanwhile."""
    return FileEdit(path, [TextEdit(TextMap(before.text or "").whole(), text)], version=before.version)


def with_ends_of(text: str, new_text: str) -> str:
    """The new text with \\r\\n as line ends, if the text it goes into has only these, as editors do."""
    ends = text.count("\r\n")
    if not ends or ends != text.count("\n"):
        return new_text
    return new_text.replace("\r\n", "\n").replace("\n", "\r\n")


def find_anchor(text: str, anchor: str, path: str) -> Range:
    """The range of a text that occurs exactly once."""
    found = _occurrences(text, anchor)
    if len(found) == 1:
        places = TextMap(text)
        return Range(places.position(found[0]), places.position(found[0] + len(anchor)))
    if not found:
        raise IdeFailed(
            f"the anchor text is not in '{path}'", kind="not_found", hint="copy it exactly, with its spaces"
        )
    places = TextMap(text)
    lines = ", ".join(str(places.position(at).line) for at in found[:MAX_NAMED])
    raise IdeFailed(
        f"the anchor text stands in '{path}' more than once, first in lines {lines} (from 0)",
        kind="ambiguous",
        hint="take more text around it",
    )


def _occurrences(text: str, anchor: str) -> list[int]:
    found: list[int] = []
    at = text.find(anchor) if anchor else -1
    while at >= 0 and len(found) <= MAX_NAMED:
        found.append(at)
        at = text.find(anchor, at + 1)
    return found


def hunks(old: str, new: str) -> Iterable[tuple[TextEdit, str]]:
    """Each change with the text it replaces."""
    from difflib import SequenceMatcher  # only where a person judges a change

    places = TextMap(old)
    before, after = lines_of(old), lines_of(new)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            place = Range(places.position(starts[i1]), places.position(starts[i2]))
            yield TextEdit(place, "".join(after[j1:j2])), old[starts[i1] : starts[i2]]

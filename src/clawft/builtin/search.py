"""Searches many files for a text or a pattern, within bounds of time, bytes and matches.

A regular expression can take for ever, and Python cannot stop it or do anything else meanwhile. So it runs in a child
process that is killed when the time is up. A plain text is searched here.
"""

import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from fnmatch import fnmatchcase
from itertools import islice
from typing import Annotated

from msgspec import Struct

from clawft.builtin.confine import ConfinedPath, open_file
from clawft.builtin.file_names import escaped_name
from clawft.builtin.matcher import FoundLine, Matcher
from clawft.builtin.tree import MAX_DEPTH, is_too_deep, walk_places
from clawft.provider.keeps import FIRST

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024
MAX_SECONDS = 10.0
MAX_LINE_CHARS = 300
MAX_FOUND_CHARS = 4 * 1024 * 1024
"""Characters of all paths and lines in a result."""
PROBE_BYTES = 8192

FindLines = Callable[[bytes], list[FoundLine]]
"""Finds the matching lines of a content, in their order."""


class Query(Struct, frozen=True):
    pattern: str
    glob: str | None = None
    regex: bool = False
    limit: int = 100


class Match(Struct, frozen=True):
    path: str
    line: int
    text: str


class Matches(Struct, frozen=True):
    matches: Annotated[list[Match], FIRST]
    files: int
    """How many files were searched."""
    truncated: str = ""
    """Why there may be more: the bound that was reached."""


def search_tree(top: ConfinedPath, query: Query) -> Matches:
    found: list[Match] = []
    looked = total = text_bytes = 0
    ends = time.monotonic() + MAX_SECONDS
    with _finder(query) as find_lines:
        for place in _files(top, query.glob, deep := []):
            content = _read(place) if place is not None else None
            if place is not None and content is not None:
                matches = _matches(escaped_name(place.relative), content, find_lines)
                found += matches
                text_bytes += sum(map(_length, matches))
                looked += 1
                total += len(content)
            if reached := _bound(len(found), query.limit, total, ends) or _said_enough(text_bytes):
                return Matches(found[: query.limit], looked, reached)
    return Matches(found, looked, _too_deep(deep))


def _finder(query: Query) -> AbstractContextManager[FindLines]:
    if query.regex:
        return Matcher(query.pattern, query.limit, MAX_SECONDS)
    needle = query.pattern.encode()
    return nullcontext(lambda content: list(islice(_lines_with(needle, content), query.limit + 1)))


def _lines_with(needle: bytes, content: bytes) -> Iterator[FoundLine]:
    """The lines with the text, found without splitting the content: it may have a line for every byte or two."""
    at = -1 if b"\n" in needle else content.find(needle)
    number = passed = 0
    while at >= 0:
        number += content.count(b"\n", passed, at)
        yield FoundLine(number, content.rfind(b"\n", passed, at) + 1 or passed)
        passed = content.find(b"\n", at)
        at = content.find(needle, passed) if passed >= 0 else -1


def _bound(found: int, limit: int, total: int, ends: float) -> str:
    if found > limit:
        return f"limit of {limit} matches"
    if total > MAX_TOTAL_BYTES:
        return f"{MAX_TOTAL_BYTES} bytes searched; name a folder or a glob"
    if time.monotonic() > ends:
        return f"{MAX_SECONDS:.0f} s searched; name a folder or a glob"
    return ""


def _said_enough(chars: int) -> str:
    return f"{MAX_FOUND_CHARS} characters found; name a folder or a glob" if chars > MAX_FOUND_CHARS else ""


def _too_deep(deep: Sequence[str]) -> str:
    return f"folders {MAX_DEPTH} deep are not looked into; name one, like '{escaped_name(deep[0])}'" if deep else ""


def _length(match: Match) -> int:
    return len(match.path) + len(match.text)


def _files(top: ConfinedPath, glob: str | None, deep: list[str]) -> Iterator[ConfinedPath | None]:
    """The files to search; None for each that is skipped, as that takes time. `deep` gets the first too deep folder."""
    if not stat.S_ISDIR(top.stat().st_mode):
        yield top if _fits(top, glob) else None
        return
    for path, status, found in walk_places(top, MAX_DEPTH):
        if not deep and is_too_deep(top, path, status):
            deep.append(path)
        may_be_text = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES
        yield found if may_be_text and _fits(found, glob) else None


def _fits(found: ConfinedPath, glob: str | None) -> bool:
    if glob is None:
        return True
    return fnmatchcase(escaped_name(found.name), glob) or fnmatchcase(escaped_name(found.relative), glob)


def _read(found: ConfinedPath) -> bytes | None:
    """The content of a text file; None for a binary one and for what cannot be read."""
    try:
        with open_file(found) as file:
            if b"\0" in file.read(PROBE_BYTES):
                return None
            file.seek(0)
            return file.read(MAX_FILE_BYTES)
    except OSError:
        return None


def _matches(path: str, content: bytes, find_lines: FindLines) -> list[Match]:
    return [Match(path, line.number + 1, _shown(content, line.start)) for line in find_lines(content)]


def _shown(content: bytes, start: int) -> str:
    """The beginning of the line that starts there; no character has more than four bytes."""
    end = content.find(b"\n", start)
    most = start + 4 * MAX_LINE_CHARS + 4
    text = content[start : most if end < 0 else min(end, most)].decode("utf-8", "replace").rstrip("\r")
    return text if len(text) <= MAX_LINE_CHARS else f"{text[:MAX_LINE_CHARS]}…"

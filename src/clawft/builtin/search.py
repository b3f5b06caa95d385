"""Looking for a text or a pattern in many files, within bounds of time, bytes and matches.

A regular expression can take for ever, and while it does Python can neither stop it nor do anything else. So it runs
in a child process that is killed when the time is up. A plain text is searched here.
"""

import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from fnmatch import fnmatchcase
from typing import Annotated

from msgspec import Struct

from clawft.builtin.confine import ConfinedPath, open_file
from clawft.builtin.matcher import Matcher
from clawft.builtin.tree import MAX_DEPTH, walk_places
from clawft.provider.keeps import FIRST

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024
MAX_SECONDS = 10.0
MAX_LINE_CHARS = 300
PROBE_BYTES = 8192

FindLines = Callable[[bytes], list[int]]
"""Numbers (from 0) of the lines that match."""


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
    """How many files were looked at."""
    truncated: str = ""
    """Why there may be more: the bound that was reached."""


def search_tree(top: ConfinedPath, query: Query) -> Matches:
    found: list[Match] = []
    looked = total = 0
    ends = time.monotonic() + MAX_SECONDS
    with _finder(query) as find_lines:
        for path, content in _texts(top, query.glob):
            found += _matches(path, content, find_lines)
            looked += 1
            total += len(content)
            if reached := _bound(len(found), query.limit, total, ends):
                return Matches(found[: query.limit], looked, reached)
    return Matches(found, looked)


def _finder(query: Query) -> AbstractContextManager[FindLines]:
    if query.regex:
        return Matcher(query.pattern, query.limit, MAX_SECONDS)
    needle = query.pattern.encode()
    return nullcontext(lambda content: _lines_with(needle, content, query.limit))


def _lines_with(needle: bytes, content: bytes, limit: int) -> list[int]:
    if needle not in content:
        return []
    return [number for number, line in enumerate(content.split(b"\n")) if needle in line][: limit + 1]


def _bound(found: int, limit: int, total: int, ends: float) -> str:
    if found > limit:
        return f"limit of {limit} matches"
    if total > MAX_TOTAL_BYTES:
        return f"{MAX_TOTAL_BYTES} bytes searched; name a folder or a glob"
    if time.monotonic() > ends:
        return f"{MAX_SECONDS:.0f} s searched; name a folder or a glob"
    return ""


def _texts(top: ConfinedPath, glob: str | None) -> Iterator[tuple[str, bytes]]:
    for found in _files(top):
        if glob is not None and not (fnmatchcase(found.name, glob) or fnmatchcase(found.relative, glob)):
            continue
        content = _read(found)
        if content is not None:
            yield found.relative, content


def _files(top: ConfinedPath) -> Iterator[ConfinedPath]:
    if not stat.S_ISDIR(top.stat().st_mode):
        yield top
        return
    for _, status, found in walk_places(top, MAX_DEPTH):
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES:
            yield found


def _read(found: ConfinedPath) -> bytes | None:
    """The content of a text file; None for a binary one and for what cannot be read."""
    try:
        with open_file(found) as file:
            content = file.read(MAX_FILE_BYTES)
    except OSError:
        return None
    return None if b"\0" in content[:PROBE_BYTES] else content


def _matches(path: str, content: bytes, find_lines: FindLines) -> list[Match]:
    numbers = find_lines(content)
    if not numbers:
        return []
    lines = content.split(b"\n")
    return [Match(path, number + 1, _shown(lines[number])) for number in numbers]


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip("\r")
    return text if len(text) <= MAX_LINE_CHARS else f"{text[:MAX_LINE_CHARS]}…"

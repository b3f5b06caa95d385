"""Walks a folder by descriptors: symlinks are listed, never followed; `.git` and our own folder are not entered."""

import os
import stat
from collections.abc import Iterator
from heapq import nsmallest
from itertools import islice

from clawft.builtin.confine import SHARED, ConfinedPath, is_ours

MAX_DEPTH = 64
MAX_NAMES = 10_000
"""How many names of one folder are held at a time (fewer in deeper ones), as there may be millions."""
CLOSED = frozenset({".git"})

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def walk_tree(top: ConfinedPath, recursive: bool, most: int | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """Paths (from the workspace) and their status, in order. What vanishes meanwhile is left out.

    `most`: only so many entries of a folder, in any order, for a caller that cannot wait.
    """
    for name, status, _ in walk_places(top, MAX_DEPTH if recursive else 1, most):
        yield name, status


def is_too_deep(top: ConfinedPath, path: str, status: os.stat_result) -> bool:
    """Whether this folder was too deep to be entered in a walk from `top`."""
    parts = path.split("/")
    above = 0 if top.relative == "." else top.relative.count("/") + 1
    return stat.S_ISDIR(status.st_mode) and len(parts) - above >= MAX_DEPTH and parts[-1] not in CLOSED


def walk_places(
    top: ConfinedPath, depth: int, most: int | None = None, level: int = 1
) -> Iterator[tuple[str, os.stat_result, ConfinedPath]]:
    """Like `walk_tree`, with an open place for each, valid until the next one."""
    folder = top.open(_FOLDER)
    prefix = "" if top.relative == "." else f"{top.relative}/"
    try:
        ours = is_ours(folder)
        for name in _in_order(folder, MAX_NAMES // level) if most is None else _some(folder, most):
            if not ours or name in SHARED:
                yield from _entry(ConfinedPath(folder, name, prefix + name), depth, most, level)
    finally:
        os.close(folder)


def _in_order(folder: int, at_once: int) -> Iterator[str]:
    """The names in a folder, sorted. The folder is read again for each batch of them."""
    last = ""
    while True:
        with os.scandir(folder) as entries:
            names = nsmallest(at_once, (entry.name for entry in entries if entry.name > last))
        yield from names
        if len(names) < at_once:
            return
        last = names[-1]


def _some(folder: int, most: int) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in islice(entries, most))


def _entry(
    found: ConfinedPath, depth: int, most: int | None, level: int
) -> Iterator[tuple[str, os.stat_result, ConfinedPath]]:
    try:
        status = found.stat()
    except FileNotFoundError:
        return
    yield found.relative, status, found
    if depth > 1 and stat.S_ISDIR(status.st_mode) and found.name not in CLOSED:
        try:
            yield from walk_places(found, depth - 1, most, level + 1)
        except (PermissionError, FileNotFoundError, NotADirectoryError):
            return  # unreadable, or gone: the rest of the tree still counts

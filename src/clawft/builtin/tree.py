"""Everything beneath a folder, by descriptor: symlinks are named, never followed; `.git` and what is ours is closed."""

import os
import stat
from collections.abc import Iterator
from itertools import islice

from clawft.builtin.confine import SHARED, ConfinedPath, is_ours

MAX_DEPTH = 64
CLOSED = frozenset({".git"})

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def walk_tree(top: ConfinedPath, recursive: bool, most: int | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """Paths (from the workspace) and what they are, in order. What vanishes meanwhile is left out.

    `most`: no more than so many of a folder, whichever those are, for somebody who cannot wait.
    """
    for name, status, _ in walk_places(top, MAX_DEPTH if recursive else 1, most):
        yield name, status


def walk_places(
    top: ConfinedPath, depth: int, most: int | None = None
) -> Iterator[tuple[str, os.stat_result, ConfinedPath]]:
    """Like `walk_tree`, with the place of each, open until the next one is asked for."""
    folder = top.open(_FOLDER)
    prefix = "" if top.relative == "." else f"{top.relative}/"
    try:
        names = _names(folder, most)
        for name in sorted(SHARED.intersection(names) if is_ours(folder) else names):
            yield from _entry(ConfinedPath(folder, name, prefix + name), depth, most)
    finally:
        os.close(folder)


def _names(folder: int, most: int | None) -> list[str]:
    if most is None:
        return os.listdir(folder)
    with os.scandir(folder) as entries:
        return [entry.name for entry in islice(entries, most)]


def _entry(found: ConfinedPath, depth: int, most: int | None) -> Iterator[tuple[str, os.stat_result, ConfinedPath]]:
    try:
        status = found.stat()
    except FileNotFoundError:
        return
    yield found.relative, status, found
    if depth > 1 and stat.S_ISDIR(status.st_mode) and found.name not in CLOSED:
        try:
            yield from walk_places(found, depth - 1, most)
        except (PermissionError, FileNotFoundError, NotADirectoryError):
            return  # not ours to read, or gone: the rest of the tree still counts

"""Rebuilds a folder with secrets in it as an empty one that holds each of its other entries.

Covering a secret file is not enough: the cover is gone when somebody outside replaces the file, as shells do with their
histories and git with its credentials; and nothing covers files made later. A server runs for days and could wait. Of a
rebuilt folder it sees what was there when it started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from clawft.sandbox.bounds import PathAccess, PathRule, around_it, by_depth, is_within

SETTINGS = "/etc"
"""Never rebuilt: a server has to see changes there, such as the addresses of name servers."""
MAX_ENTRIES = 128
"""Entries of a folder, as bubblewrap takes 15 ms for 60 of them. In a larger one secrets are only covered."""


def taken_apart(rules: Sequence[PathRule], home: str) -> list[PathRule]:
    """Settled rules, with the home folder, and readable folders around hidden files, rebuilt entry by entry."""
    access_of: dict[str, PathAccess] = {rule.path: rule.access for rule in rules}
    files = (rule.path for rule in rules if rule.access == "hide" and not os.path.isdir(rule.path))
    around = {folder for file in files if not is_within(folder := os.path.dirname(file), SETTINGS)}
    for folder in sorted({home, *around} - {"", "/"}, key=by_depth):
        entries = list(_entries(folder)) if _access(folder, access_of) == "read" else []
        if 0 < len(entries) <= MAX_ENTRIES:
            access_of = {**dict(entries), **access_of, folder: "hide"}
    return [rule for path in sorted(access_of, key=by_depth) if (rule := _rule(path, access_of)) is not None]


def _access(folder: str, said: dict[str, PathAccess]) -> PathAccess:
    found = said.get(folder) or around_it(folder, said)
    return "read" if found == "near" else found


def _entries(folder: str) -> Iterator[tuple[str, PathAccess]]:
    """The files, folders and links in a folder; not the sockets of other programs."""
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if entry.is_symlink():
                    yield entry.path, "link"
                elif entry.is_dir() or entry.is_file():
                    yield entry.path, "near"
    except OSError:
        return


def _rule(path: str, said: dict[str, PathAccess]) -> PathRule | None:
    """The rule for an entry; a hidden folder inside a hidden one appears as an empty folder."""
    if said[path] != "hide" or path == "/" or around_it(path, said) != "hide":
        return PathRule(path, said[path])
    return PathRule(path, "bare") if os.path.isdir(path) else None

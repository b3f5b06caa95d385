"""A folder with secrets in it, taken apart: each of its other entries is put into an empty one, and nothing else.

What covers a file is gone as soon as somebody outside puts another file in its place, as shells do with their
histories and git with its credentials; and nothing covers what is made later. A server runs for days, and would only
have to wait. Of a folder that was taken apart it sees what was there when it started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from clawft.sandbox.bounds import PathAccess, PathRule, around_it, by_depth, is_within

SETTINGS = "/etc"
"""Is never taken apart: what changes there, such as the addresses of name servers, a server has to see."""
MAX_ENTRIES = 128
"""Of one folder: bubblewrap takes longer for each, 15 ms for 60 of them. Secrets in a larger one are covered only."""


def taken_apart(rules: Sequence[PathRule], home: str) -> list[PathRule]:
    """Rules that are settled, with the home folder and those around hidden files taken apart where they may be read."""
    said: dict[str, PathAccess] = {rule.path: rule.access for rule in rules}
    files = (rule.path for rule in rules if rule.access == "hide" and not os.path.isdir(rule.path))
    around = {folder for file in files if not is_within(folder := os.path.dirname(file), SETTINGS)}
    for folder in sorted({home, *around} - {"", "/"}, key=by_depth):
        entries = list(_entries(folder)) if _access(folder, said) == "read" else []
        if 0 < len(entries) <= MAX_ENTRIES:
            said = {**dict(entries), **said, folder: "hide"}
    return [rule for path in sorted(said, key=by_depth) if (rule := _rule(path, said)) is not None]


def _access(folder: str, said: dict[str, PathAccess]) -> PathAccess:
    found = said.get(folder) or around_it(folder, said)
    return "read" if found == "near" else found


def _entries(folder: str) -> Iterator[tuple[str, PathAccess]]:
    """Files, folders and links; sockets of other programs are none of them."""
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
    """Of a folder that is hidden in what is hidden its name is left, so that it looks as if it were empty."""
    if said[path] != "hide" or path == "/" or around_it(path, said) != "hide":
        return PathRule(path, said[path])
    return PathRule(path, "bare") if os.path.isdir(path) else None

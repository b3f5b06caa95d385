"""Resolves rules against this disk: rules for missing paths are dropped, and links replaced by their targets.

Links in the workspace open nothing: a server may have made them for its next start.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from clawft.sandbox.bounds import PathAccess, PathRule, around_it, by_depth, is_within

WORTH_LISTING = 5
"""From so many paths in one folder on, listing the folder is cheaper than looking at each."""


def present_in(folder: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that exist below a folder. For most of them the folder's listing is enough to tell."""
    listed = _names_in(folder)
    likely = [name for name in names if listed is None or name.partition("/")[0] in listed]
    found = set(_present(f"{folder}/{name}" for name in likely))
    return tuple(name for name in likely if f"{folder}/{name}" in found)


def settled(rules: Sequence[PathRule], workspace: str) -> list[PathRule]:
    """The resolved rules, from shallow to deep. Where a link and another path meet, hiding counts."""
    access_of: dict[str, PathAccess] = {rule.path: rule.access for rule in rules}
    found: dict[str, PathAccess] = {}
    real_folder = cache(_without_links)  # most rules are in the same few folders
    for path in _present(access_of):
        for place in _meant(path, _real(path, real_folder), workspace, access_of):
            if found.get(place) != "hide":
                found[place] = access_of[path] if access_of[path] != "stay" else _staying(place, access_of)
    return [PathRule(path, found[path]) for path in sorted(found, key=by_depth)]


def _present(paths: Iterable[str]) -> list[str]:
    """The paths that exist, also as broken links."""
    folders = {path: path.rpartition("/")[0] or "/" for path in paths}
    many = [folder for folder, count in Counter(folders.values()).items() if count >= WORTH_LISTING]
    listed = {folder: _names_in(folder) for folder in many}
    return [path for path, folder in folders.items() if _is_there(path, listed.get(folder))]


def _names_in(folder: str) -> set[str] | None:
    """The names in a folder; None if it cannot be listed."""
    try:
        return set(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except OSError:
        return None


def _is_there(path: str, names: set[str] | None) -> bool:
    return os.path.lexists(path) if names is None or path == "/" else path.rpartition("/")[2] in names


def _without_links(path: str) -> str:
    return os.path.realpath(path)


def _real(path: str, real_folder: Callable[[str], str]) -> str:
    """Like `realpath`, with the folder's real path cached."""
    if path == "/" or os.path.islink(path):
        return _without_links(path)
    folder, _, name = path.rpartition("/")
    return os.path.join(real_folder(folder or "/"), name)


def _meant(path: str, real: str, workspace: str, said: Mapping[str, PathAccess]) -> tuple[str, ...]:
    """The places a rule about a path applies to; none if it is a link that must not be followed."""
    if real == path:
        return () if os.path.islink(path) else (real,)  # a link to itself
    if said[path] in ("hide", "empty"):
        return (real,) if real != "/" else ()
    if is_within(path, workspace) or not os.path.exists(real):
        return ()
    lost = around_it(path, said) == "hide"  # with its folder, so it is put there again
    return (real, path) if lost else (real,)


def _staying(path: str, said: Mapping[str, PathAccess]) -> PathAccess:
    """The access by which a place is mounted on itself, so that it cannot be moved; files are mounted for reading."""
    return "write" if os.path.isdir(path) and around_it(path, said) == "write" else "read"

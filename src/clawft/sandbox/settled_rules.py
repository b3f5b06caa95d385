"""Rules as this disk has them: one about nothing is left out, and of a link what it leads to is meant.

A link in the workspace opens nothing: a server may have put it there for its next start.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from clawft.sandbox.bounds import PathAccess, PathRule, around_it, by_depth, is_within

WORTH_LISTING = 5
"""From this many paths in one folder on it is cheaper to list the folder than to look for each."""


def present_in(folder: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those of these names below a folder that are there. Most are told by the folder's own list not to be."""
    listed = _names_in(folder)
    likely = [name for name in names if listed is None or name.partition("/")[0] in listed]
    found = set(_present(f"{folder}/{name}" for name in likely))
    return tuple(name for name in likely if f"{folder}/{name}" in found)


def settled(rules: Sequence[PathRule], workspace: str) -> list[PathRule]:
    """Shallow before deep, as they came. Where a link and something else are the same, hiding counts."""
    said: dict[str, PathAccess] = {rule.path: rule.access for rule in rules}
    found: dict[str, PathAccess] = {}
    real_folder = cache(_without_links)  # most rules are about the same few
    for path in _present(said):
        for place in _meant(path, _real(path, real_folder), workspace, said):
            if found.get(place) != "hide":
                found[place] = said[path] if said[path] != "stay" else _staying(place, said)
    return [PathRule(path, found[path]) for path in sorted(found, key=by_depth)]


def _present(paths: Iterable[str]) -> list[str]:
    """Those that are there, be it as links that lead nowhere."""
    folders = {path: path.rpartition("/")[0] or "/" for path in paths}
    many = [folder for folder, count in Counter(folders.values()).items() if count >= WORTH_LISTING]
    listed = {folder: _names_in(folder) for folder in many}
    return [path for path, folder in folders.items() if _is_there(path, listed.get(folder))]


def _names_in(folder: str) -> set[str] | None:
    """None: it may be entered, but not listed."""
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
    """As `realpath`, which would look at the same folders again and again."""
    if path == "/" or os.path.islink(path):
        return _without_links(path)
    folder, _, name = path.rpartition("/")
    return os.path.join(real_folder(folder or "/"), name)


def _meant(path: str, real: str, workspace: str, said: Mapping[str, PathAccess]) -> tuple[str, ...]:
    """Where a rule about a path counts; nowhere if it is a link that is not to be followed."""
    if real == path:
        return () if os.path.islink(path) else (real,)  # a link to itself
    if said[path] in ("hide", "empty"):
        return (real,) if real != "/" else ()
    if is_within(path, workspace) or not os.path.exists(real):
        return ()
    lost = around_it(path, said) == "hide"  # with its folder, so it is put there again
    return (real, path) if lost else (real,)


def _staying(path: str, said: Mapping[str, PathAccess]) -> PathAccess:
    """What is bound to its own place cannot be moved; a file there is bound for reading."""
    return "write" if os.path.isdir(path) and around_it(path, said) == "write" else "read"

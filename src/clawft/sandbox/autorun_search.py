"""Finds files deeper in a workspace that decide which programs run later: in repositories, projects and submodules.

Only what exists can be protected, and a server is bound at its start: so this search runs at each start.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from clawft.sandbox.bounds import AUTORUN_FILES
from clawft.sandbox.settled_rules import present_in

MAX_FOLDERS = 256
"""Folders of one workspace that are searched."""
MAX_HELD = 64
"""Files and folders that are protected: bubblewrap takes longer for each, 15 ms for 60 of them."""

_IN_SUBMODULE = ("config", "config.worktree", "hooks")
_NO_SUBMODULES = frozenset({"hooks", "info", "lfs", "logs", "objects", "refs"})
"""Folders with many others in them that git has in each repository."""


def autorun_files_below(workspace: str) -> tuple[str, ...]:
    """The paths of autorun files below the workspace. Links are not followed."""
    return tuple(islice(_found(workspace), MAX_HELD))


def _found(workspace: str) -> Iterator[str]:
    yield from _present(workspace, _submodules(workspace), _IN_SUBMODULE)
    yield from _present(workspace, _inside(workspace, ".git/worktrees"), ("config.worktree",))
    yield from _present(workspace, _folders(workspace), AUTORUN_FILES)


def _present(workspace: str, folders: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    for folder in islice(folders, MAX_FOLDERS):
        yield from (f"{folder}/{name}" for name in present_in(f"{workspace}/{folder}", names))


def _submodules(workspace: str) -> Iterator[str]:
    """Git folders of submodules, which lie as deep as their paths; nested ones lie in the folder of their parent."""
    waiting = deque([".git/modules"])
    while waiting:
        folder = waiting.popleft()
        inside = islice(_inside(workspace, folder), MAX_FOLDERS)
        waiting.extend(path for path in inside if os.path.basename(path) not in _NO_SUBMODULES)
        yield folder


def _inside(workspace: str, folder: str) -> Iterator[str]:
    return (f"{folder}/{name}" for name in _folders(f"{workspace}/{folder}"))


def _folders(path: str) -> Iterator[str]:
    try:
        with os.scandir(path) as found:
            yield from (entry.name for entry in found if entry.is_dir(follow_symlinks=False) and entry.name != ".git")
    except OSError:
        return

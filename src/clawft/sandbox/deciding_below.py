"""What decides which programs run later a folder further down: of repositories, projects and submodules in a workspace.

Only what is there can be held, and a server is held to it from its start on: so it is looked for at each start.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from clawft.sandbox.bounds import DECIDING
from clawft.sandbox.settled_rules import present_in

MAX_FOLDERS = 256
"""Folders of one workspace that are looked into."""
MAX_HELD = 64
"""Files and folders that are held: bubblewrap takes longer for each, 15 ms for 60 of them."""

_IN_SUBMODULE = ("config", "config.worktree", "hooks")
_NO_SUBMODULES = frozenset({"hooks", "info", "lfs", "logs", "objects", "refs"})
"""Folders that git has in each repository, with many more in them."""


def deciding_below(workspace: str) -> tuple[str, ...]:
    """Their names below the workspace. What a link leads to is not meant."""
    return tuple(islice(_found(workspace), MAX_HELD))


def _found(workspace: str) -> Iterator[str]:
    yield from _present(workspace, _submodules(workspace), _IN_SUBMODULE)
    yield from _present(workspace, _inside(workspace, ".git/worktrees"), ("config.worktree",))
    yield from _present(workspace, _folders(workspace), DECIDING)


def _present(workspace: str, folders: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    for folder in islice(folders, MAX_FOLDERS):
        yield from (f"{folder}/{name}" for name in present_in(f"{workspace}/{folder}", names))


def _submodules(workspace: str) -> Iterator[str]:
    """As deep as their paths, by which git calls them; and those of a submodule lie in its own folder."""
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

"""What decides which programs run later a folder further down: of repositories, projects and submodules in a workspace.

Only what is there can be held, and a server is held to it from its start on: so it is looked for at each start.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice

from clawft.sandbox.bounds import DECIDING
from clawft.sandbox.settled_rules import present_in

MAX_FOLDERS = 256
"""Folders of one workspace that are looked into."""
MAX_HELD = 64
"""Files and folders that are held: bubblewrap takes longer for each, 15 ms for 60 of them."""

_IN_GIT = {".git/modules": ("config", "hooks"), ".git/worktrees": ("config.worktree",)}


def deciding_below(workspace: str) -> tuple[str, ...]:
    """Their names below the workspace. What a link leads to is not meant."""
    return tuple(islice(_found(workspace), MAX_HELD))


def _found(workspace: str) -> Iterator[str]:
    for folder, names in _IN_GIT.items():
        yield from _present(workspace, folder, names)
    yield from _present(workspace, "", DECIDING)


def _present(workspace: str, folder: str, names: Iterable[str]) -> Iterator[str]:
    for inner in islice(_folders(os.path.join(workspace, folder)), MAX_FOLDERS):
        path = os.path.join(folder, inner)
        yield from (f"{path}/{name}" for name in present_in(f"{workspace}/{path}", names))


def _folders(path: str) -> Iterator[str]:
    try:
        with os.scandir(path) as found:
            yield from (entry.name for entry in found if entry.is_dir(follow_symlinks=False) and entry.name != ".git")
    except OSError:
        return

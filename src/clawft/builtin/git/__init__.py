"""Git: the tools, from the hardened git command line.

A repository is untrusted until a person approved it. In an untrusted one nothing of its own is started: no hook, no
filter, no driver, no helper. `program` and `hostile` say how, `repository` keeps git inside the workspace, `words` and
`address` judge what comes from outside, `run` holds the process. Each tool is a file; `RECIPES` lists them.
"""

from collections.abc import Callable
from typing import Any

from clawft.builtin.git.add import add, restore
from clawft.builtin.git.blame import blame
from clawft.builtin.git.branch import branch
from clawft.builtin.git.clone import clone
from clawft.builtin.git.commit import commit
from clawft.builtin.git.conflicts import conflicts
from clawft.builtin.git.diff import diff
from clawft.builtin.git.log import log
from clawft.builtin.git.pull import pull
from clawft.builtin.git.remote import fetch, push
from clawft.builtin.git.settings import MANIFEST, Bounds, GitSettings
from clawft.builtin.git.show import show
from clawft.builtin.git.stash import stash
from clawft.builtin.git.status import status
from clawft.builtin.git.switch import switch
from clawft.builtin.git.tag import tag
from clawft.builtin.git.told import Recipe
from clawft.builtin.git.worktree import worktree

__all__ = ["MANIFEST", "RECIPES", "TOOLS", "Bounds", "GitSettings", "git_tools"]

RECIPES: tuple[Recipe, ...] = (
    clone,
    commit,
    branch,
    diff,
    blame,
    log,
    status,
    show,
    add,
    restore,
    switch,
    fetch,
    pull,
    push,
    stash,
    worktree,
    tag,
    conflicts,
)


def git_tools(settings: GitSettings) -> tuple[Callable[..., Any], ...]:
    """The tools, bound to these settings."""
    return tuple(recipe.tool(settings) for recipe in RECIPES)


TOOLS = git_tools(GitSettings())

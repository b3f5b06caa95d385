"""Lists the tools of the git family in their order. To add one: a file with its `partial_tool`, and a row here."""

from collections.abc import Callable
from typing import Any

from clawft.builtin.command_places import Turn
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
from clawft.builtin.git.repo import Git
from clawft.builtin.git.settings import GitSettings
from clawft.builtin.git.show import show
from clawft.builtin.git.stash import stash
from clawft.builtin.git.status import status
from clawft.builtin.git.switch import switch
from clawft.builtin.git.tag import tag
from clawft.builtin.git.worktree import worktree
from clawft.builtin.partial_tool import PartialTool

PARTIAL_TOOLS: tuple[PartialTool, ...] = (
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
    return tuple(each.tool(lambda name, ctx: Git(name, settings, ctx, Turn(ctx.caller))) for each in PARTIAL_TOOLS)

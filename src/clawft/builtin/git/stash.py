"""The tool `stash`: puts changes aside and gets them back."""

from contextlib import nullcontext
from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.builtin.git import argument_checks
from clawft.builtin.git.hostile_config import GitWork
from clawft.builtin.git.identity import identity_if_any
from clawft.builtin.git.page import counted, lines_of
from clawft.builtin.git.reading import decoded, records
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.git.status import conflicts_after
from clawft.builtin.git.unfinished import STATES, check_finished
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed

Action = Literal["push", "list", "apply", "pop", "drop"]
FIELDS = 3
NOT_THERE = 1
"""The exit code of `git rev-parse --verify` for a missing name; others are real errors."""


class StashEntry(Struct, frozen=True):
    index: int
    oid: str
    message: str
    timestamp: int


class StashResult(Struct, frozen=True, omit_defaults=True):
    result: list[StashEntry]
    """All stashes, the newest first."""
    conflicts: list[str] = []
    """Files where the stashed changes conflict with others; the stash is kept then."""

    def text(self) -> str:
        if self.conflicts:
            return lines_of("conflicts; the stash is kept", self.conflicts, None)
        lines = [f"{each.index}: {each.message}" for each in self.result]
        return lines_of(counted(len(lines), "stash", "stashes"), lines, None)


@partial_tool(alias="git_stash", title="Git stash", destructive=True, open_world=False)
async def stash(
    git: Git,
    repo_path: RepoPath,
    action: Annotated[Action, Meta(description="pop applies and drops; drop loses it")] = "list",
    message: Annotated[str, Meta(description="of a push")] = "",
    index: Annotated[int, Meta(ge=0, le=10_000, description="which one; 0 is the newest")] = 0,
    include_untracked: Annotated[bool, Meta(description="a push takes untracked files, too")] = False,
) -> StashResult:
    """Put the changes of the work tree aside (`push`), get them back (`pop`, `apply`), list or drop them."""
    checked = argument_checks.message(git.tool, message) if message else ""
    work = GitWork.MERGE if action in ("apply", "pop") else GitWork.LOOK
    async with git.open(repo_path, work) as repo, nullcontext() if action == "list" else repo.alone():
        conflicts: list[str] = []
        if action == "push":
            await _push(repo, checked, include_untracked)
        elif action != "list":
            await _check_there(repo, index)
        if action == "drop":
            await repo.ask("stash", "drop", "--quiet", f"stash@{{{index}}}", write=True)
        elif action in ("apply", "pop"):
            conflicts = await _get_back(repo, action, index)
        return StashResult(await _list(repo), conflicts)


async def _check_there(repo: Repo, index: int) -> None:
    count = len(await _list(repo))
    if index >= count:
        raise ExecutionFailed(f"{repo.tool}: there is no stash {index}, of {count}", hint="git__stash lists them")


async def _push(repo: Repo, message: str, include_untracked: bool) -> None:
    """Refused during a merge and the like: git would forget about that."""
    await check_finished(repo, but=("rebase",))
    how = ["--include-untracked"] if include_untracked else []
    how += [f"--message={message}"] if message else []
    ran = await repo.attempt("stash", "push", "--quiet", *how, write=True, extra=await identity_if_any(repo))
    repo.check(ran)


async def _get_back(repo: Repo, action: str, index: int) -> list[str]:
    await check_finished(repo, but=STATES.values())  # or conflicts of those would count as the stash's
    ran = await repo.attempt(
        "stash", action, "--quiet", f"stash@{{{index}}}", write=True, extra=await identity_if_any(repo)
    )
    return await conflicts_after(repo, ran)


async def _list(repo: Repo) -> list[StashEntry]:
    exists = await repo.attempt("rev-parse", "--verify", "--quiet", "refs/stash")
    if exists.code == NOT_THERE:
        return []
    repo.check(exists)
    listed = await repo.ask(
        "log", "-g", "-z", "--no-show-signature", "--format=tformat:%H%x00%gs%x00%ct", "refs/stash", "--"
    )
    found = enumerate(records(decoded(listed), FIELDS))
    return [StashEntry(number, oid, text, int(when)) for number, (oid, text, when) in found]

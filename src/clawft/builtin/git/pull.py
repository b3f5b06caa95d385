"""The tool `pull`: fetches and merges."""

from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.git import argument_checks
from clawft.builtin.git.hostile_config import GitWork
from clawft.builtin.git.identity import AuthorEmail, AuthorName, identity
from clawft.builtin.git.log import head_of
from clawft.builtin.git.page import lines_of
from clawft.builtin.git.remote import RemoteName, current_branch, fetch_refs
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.git.status import conflicts_after
from clawft.builtin.git.unfinished import check_finished
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed

STOPPED = 1
"""The exit code of a `git merge` that stopped for conflicts: only such a merge is ours to undo."""


class PullResult(Struct, frozen=True, omit_defaults=True):
    before: str | None
    after: str | None
    conflicts: list[str] = []
    undone: bool = False
    """Whether there were conflicts, and everything was put back as before the merge."""

    def text(self) -> str:
        if self.conflicts:
            state = "undone; pull with keep_conflicts=true to resolve them" if self.undone else "waiting to be resolved"
            return lines_of(f"conflicts, {state}", self.conflicts, None)
        if self.before == self.after:
            return "already up to date"
        return f"{(self.before or 'nothing')[:12]} → {(self.after or '')[:12]}"


@partial_tool(alias="git_pull", title="Git pull", destructive=False)
async def pull(
    git: Git,
    repo_path: RepoPath,
    remote: RemoteName = "origin",
    branch: Annotated[str, Meta(description="of the remote; the one with the name of ours if left out")] = "",
    ff_only: Annotated[bool, Meta(description="only if ours has nothing the remote has not; false merges")] = True,
    keep_conflicts: Annotated[bool, Meta(description="leave a merge with conflicts for you to resolve")] = False,
    author_name: AuthorName = "",
    author_email: AuthorEmail = "",
) -> PullResult:
    """Bring the current branch up to date with its remote. A merge with conflicts is undone, unless you keep it."""
    name = argument_checks.remote_name(git.tool, remote)
    wanted = argument_checks.ref_name(git.tool, "branch", branch) if branch else ""
    async with git.open(repo_path, GitWork.NETWORK | GitWork.MERGE) as repo:
        await check_finished(repo)
        ref = f"refs/heads/{wanted}" if wanted else await current_branch(repo)
        who = {} if ff_only else await identity(repo, author_name, author_email)
        checked_out = await _checked_out(repo)
        async with repo.alone("remotes"):  # the result of a fetch is in one file, which every fetch overwrites
            await fetch_refs(repo, name, [ref], [])
            async with repo.alone():
                if await _checked_out(repo) != checked_out:
                    raise ExecutionFailed(
                        f"{git.tool}: another branch was checked out while this fetched: nothing is merged",
                        hint="git__status says which; then pull again",
                    )
                return await _bring_up(repo, "--ff-only" if ff_only else "--ff", who, keep_conflicts=keep_conflicts)


async def _checked_out(repo: Repo) -> bytes:
    """The ref of the checked out branch; empty if there is none."""
    return (await repo.attempt("symbolic-ref", "--quiet", "HEAD")).out


async def _bring_up(repo: Repo, how: str, who: dict[str, str], *, keep_conflicts: bool) -> PullResult:
    before = await head_of(repo)
    conflicts = await _merge(repo, how, who)
    undone = bool(conflicts) and not keep_conflicts
    if undone:
        await repo.ask("merge", "--abort", write=True)
    return PullResult(before, await head_of(repo), conflicts, undone)


async def _merge(repo: Repo, how: str, who: dict[str, str]) -> list[str]:
    """Merge what was fetched; gives the files with conflicts."""
    checks = [] if repo.trusted else ["--no-verify", "--no-gpg-sign", "--no-verify-signatures"]
    args = ["merge", "--quiet", "--no-edit", "--no-stat", "--no-progress", "--no-autostash", how, *checks]
    ran = await repo.attempt(*args, "FETCH_HEAD", write=True, extra=who)
    if ran.code != STOPPED:
        repo.check(ran)
    return await conflicts_after(repo, ran)

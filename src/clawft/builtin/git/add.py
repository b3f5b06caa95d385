"""The tools `add` and `restore`: stage files, and undo changes in the index or the work tree."""

from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.file_names import unescaped_bytes
from clawft.builtin.git import argument_checks
from clawft.builtin.git.log import commit_of, head_of
from clawft.builtin.git.page import counted, lines_of
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.git.staging import line_of_embedded, stage
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import InvalidArguments

TouchedPaths = Annotated[
    list[str], Meta(min_length=1, description="files or folders, relative to the top of the repository; '.' is all")
]
_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")
"""Paths come by stdin: there may be more than fit on a command line."""


class PathsResult(Struct, frozen=True, omit_defaults=True):
    paths: list[str]
    embedded: list[str] = []
    """New repositories inside this one: only the commit each is at is staged, and none of its files."""

    def text(self) -> str:
        head = counted(len(self.paths), "path")
        return lines_of("\n".join([head, *line_of_embedded(self.embedded)]), self.paths, None)


@partial_tool(alias="git_add", title="Git add", destructive=False, idempotent=True, open_world=False)
async def add(git: Git, repo_path: RepoPath, paths: TouchedPaths) -> PathsResult:
    """Stage files for the next commit: new, changed and deleted ones. Of a conflicted file: say that it is resolved."""
    chosen = argument_checks.paths(git.tool, paths)
    async with git.open(repo_path) as repo, repo.alone():
        staged = await stage(repo, chosen)
        return PathsResult(staged.names, staged.embedded)


@partial_tool(alias="git_restore", title="Git restore", destructive=True, idempotent=True, open_world=False)
async def restore(
    git: Git,
    repo_path: RepoPath,
    paths: TouchedPaths,
    staged: Annotated[bool, Meta(description="take them back from the index; the files stay as they are")] = False,
    source: Annotated[str, Meta(description="as they were in this commit; without, as staged or as in HEAD")] = "",
) -> PathsResult:
    """Undo changes to files. What was changed in the work tree is lost; with `staged` it is only unstaged."""
    chosen = argument_checks.paths(git.tool, paths)
    wanted = argument_checks.revision(git.tool, "source", source) if source else ""
    async with git.open(repo_path) as repo, repo.alone():
        if staged and not wanted and await head_of(repo) is None:
            await _forget(repo, chosen)
        else:
            await _restore(repo, chosen, staged, wanted)
    return PathsResult(chosen)


async def _restore(repo: Repo, paths: list[str], staged: bool, source: str) -> None:
    where = ["--staged"] if staged else ["--worktree"]
    if source:
        where += [f"--source={await commit_of(repo, source)}"]
    args = ("--literal-pathspecs", "restore", "--no-progress", *_FROM_STDIN, *where)
    ran = await repo.attempt(*args, stdin=_spelled(paths), write=True)
    if ran.code != 0 and "did not match any" in ran.err:
        raise InvalidArguments(f"{repo.tool}: git has no such file there: {', '.join(paths[:5])}")
    repo.check(ran)


async def _forget(repo: Repo, paths: list[str]) -> None:
    """Unstage before the first commit, when there is nothing to go back to: the files become untracked."""
    args = ("--literal-pathspecs", "rm", "-r", "--cached", "--quiet", "--force", *_FROM_STDIN)
    await repo.ask(*args, stdin=_spelled(paths), write=True)


def _spelled(paths: list[str]) -> bytes:
    return b"".join(unescaped_bytes(path) + b"\0" for path in paths)

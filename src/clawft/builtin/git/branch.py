"""The tool `branch`: lists local and remote branches."""

from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.git import argument_checks
from clawft.builtin.git.page import Cursor, Limit, NextCursor, counted, lines_of, offset_of, page
from clawft.builtin.git.reading import decoded, records, understood
from clawft.builtin.git.repo import Git, RepoPath
from clawft.builtin.partial_tool import partial_tool

FORMAT = "--format=%(refname:lstrip=2)%00%(HEAD)%00%(symref)%00"
FIELDS = 3


class BranchResult(Struct, frozen=True, omit_defaults=True):
    result: list[str]
    current: str | None = None
    """None if none is checked out, or it has no commit yet."""
    next_cursor: NextCursor = None

    def text(self) -> str:
        lines = [f"{'*' if name == self.current else ' '} {name}" for name in self.result]
        return lines_of(counted(len(lines), "branch", "branches") if lines else "no branches", lines, self.next_cursor)


@partial_tool(alias="git_branch", title="Git branches", read_only=True, idempotent=True, open_world=False)
async def branch(
    git: Git,
    repo_path: RepoPath,
    pattern: Annotated[str, Meta(description="only names that contain this text")] = "",
    limit: Limit = 500,
    cursor: Cursor = "",
) -> BranchResult:
    """List the branches of a repository, local and remote (`origin/main`)."""
    offset = offset_of(git.tool, cursor)
    wanted = argument_checks.word(git.tool, "pattern", pattern) if pattern else ""
    async with git.open(repo_path) as repo:
        listed = await repo.ask("for-each-ref", FORMAT, "refs/heads/", "refs/remotes/")
    names, current = await understood(parse_branches, listed)
    shown, after = page([name for name in names if wanted in name], offset, limit)
    return BranchResult(shown, current, after)


def parse_branches(said: bytes) -> tuple[list[str], str | None]:
    """All names, and the one that is checked out. `origin/HEAD` is left out, as it stands for another branch."""
    names: list[str] = []
    current = None
    for name, mark, alias in records(decoded(said).replace("\0\n", "\0"), FIELDS):
        names += [] if alias else [name]
        current = name if mark == "*" else current
    return names, current

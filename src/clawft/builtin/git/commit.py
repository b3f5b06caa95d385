"""The tool `commit`."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from clawft.builtin.git import argument_checks
from clawft.builtin.git.failure import failed
from clawft.builtin.git.identity import AuthorEmail, AuthorName, identity
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.git.staging import Staged, check_resolved, line_of_embedded, stage
from clawft.builtin.git.status import read_status
from clawft.builtin.git.temporary_index import index_of
from clawft.builtin.git.unfinished import check_finished
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed


class CommitResult(Struct, frozen=True, omit_defaults=True):
    oid: str
    message: str
    embedded: list[str] = []
    """New repositories inside this one: only the commit each is at is committed, and none of its files."""

    def text(self) -> str:
        head = f"{self.oid[:12]} {self.message.partition(chr(10))[0]}"
        return "\n".join([head, *line_of_embedded(self.embedded)])


@partial_tool(alias="git_commit", title="Git commit", destructive=False, open_world=False)
async def commit(
    git: Git,
    repo_path: RepoPath,
    message: Annotated[str, Meta(description="the whole message, first line first")],
    author_name: AuthorName = "",
    author_email: AuthorEmail = "",
    paths: Annotated[
        list[str] | None,
        Meta(description="stage and commit only these; with an empty list, what is staged. Left out: everything"),
    ] = None,
) -> CommitResult:
    """Stage everything (new, changed and deleted files, not the ignored ones) and commit it on the current branch."""
    argument_checks.message(git.tool, message)
    chosen = None if paths is None else argument_checks.paths(git.tool, paths)
    async with git.open(repo_path) as repo:
        who = await identity(repo, author_name, author_email)
        async with repo.alone():
            if chosen == []:
                return await make_commit(repo, message, who)
            staged = await stage(repo, chosen)
            takes_all = chosen is None or not staged.others
            made = await (make_commit(repo, message, who) if takes_all else _commit_apart(repo, message, who, staged))
            return msgspec.structs.replace(made, embedded=staged.embedded)


async def _commit_apart(repo: Repo, message: str, who: dict[str, str], staged: Staged) -> CommitResult:
    """Commit these paths and keep others staged. Refused during a merge and the like, which cannot be split."""
    check_resolved(repo.tool, staged.others)
    await check_finished(repo)
    async with index_of(repo, staged.paths) as index:
        return await make_commit(repo, message, {**who, **index})


async def make_commit(repo: Repo, message: str, who: dict[str, str]) -> CommitResult:
    """Commit what is staged."""
    checks = [] if repo.trusted else ["--no-verify", "--no-gpg-sign", "--no-post-rewrite"]
    args = ["commit", "--file=-", "--cleanup=whitespace", "--no-status", "--quiet", *checks]
    ran = await repo.attempt(*args, stdin=message.encode(), write=True, extra=who)
    if ran.code != 0:
        check_resolved(repo.tool, (await read_status(repo)).changes)
        if not ran.err.strip():
            raise ExecutionFailed(f"{repo.tool}: nothing to commit", hint="git__status shows what has changed")
        raise failed(repo.tool, ran)
    oid, _, written = decoded(await repo.ask("log", "-1", "--no-show-signature", "--format=%H%x00%B")).partition("\0")
    return CommitResult(oid, written.strip("\n"))

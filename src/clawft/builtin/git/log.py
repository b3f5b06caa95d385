"""The tool `log`: commits, newest first."""

import re
from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.file_names import unescaped_name
from clawft.builtin.git import argument_checks
from clawft.builtin.git.failure import failed
from clawft.builtin.git.page import Cursor, Limit, NextCursor, counted, fitting, lines_of, no_cursor, shorten
from clawft.builtin.git.reading import decoded, records
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed, InvalidArguments
from clawft.provider.keeps import FIRST

UNKNOWN = "unknown"
FORMAT = "--format=tformat:%H%x00%an%x00%ae%x00%at%x00%P%x00%B"
"""Six fields. A message ends at its first null byte, so no field holds one."""
FIELDS = 6
MOST_TIPS = 20
"""Start commits in a cursor, which keep new commits from shifting a listing."""

_CURSOR = re.compile(r"(?P<skip>\d{1,12}):(?P<tips>\^?[0-9a-f]{40,64}(?:,\^?[0-9a-f]{40,64})*)")


class LogEntry(Struct, frozen=True):
    oid: str
    author: str
    message: Annotated[str, FIRST]
    timestamp: int
    email: str = ""
    parents: list[str] = []


class LogResult(Struct, frozen=True, omit_defaults=True):
    result: list[LogEntry]
    next_cursor: NextCursor = None

    def text(self) -> str:
        lines = [f"{each.oid[:12]} {each.author}: {each.message.partition(chr(10))[0]}" for each in self.result]
        return lines_of(counted(len(lines), "commit") if lines else "no commits", lines, self.next_cursor)


@partial_tool(alias="git_log", title="Git log", read_only=True, idempotent=True, open_world=False)
async def log(
    git: Git,
    repo_path: RepoPath,
    max_count: Limit = 20,
    revision: Annotated[str, Meta(description="where to begin, or a range such as main..topic; HEAD if left out")] = "",
    path: Annotated[str, Meta(description="only commits that touch this file or folder")] = "",
    cursor: Cursor = "",
) -> LogResult:
    """List commits, newest first: all of the current branch, or of a revision, a range, a path."""
    tips = [argument_checks.revision(git.tool, "revision", revision)] if revision else ["HEAD"]
    where = [argument_checks.path(git.tool, "path", path)] if path else []
    skip, tips = _read_cursor(git.tool, cursor) if cursor else (0, tips)
    async with git.open(repo_path) as repo:
        commits = await read_log(repo, tips, where, skip, max_count + 1)
        if revision and not commits:
            await _check_commits(repo, revision)
        count = fitting(commits, max_count)
        after = await _cursor(repo, tips, skip + count) if count < len(commits) else None
    return LogResult(commits[:count], after)


async def _check_commits(repo: Repo, revision: str) -> None:
    """Raises InvalidArguments for a folder or file, for which git silently lists nothing. A range may be empty."""
    thing = await repo.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", revision)
    if thing.code == 0 and await try_commit(repo, revision) is None:
        raise InvalidArguments(f"{repo.tool}: '{revision}' is no commit", hint="'path' is for files and folders")


async def read_log(repo: Repo, tips: list[str], where: list[str], skip: int, count: int) -> list[LogEntry]:
    """The commits; none before the first commit."""
    args = ("log", "-z", FORMAT, "--no-show-signature", "--no-color", "--no-mailmap", f"--skip={skip}", f"-n{count}")
    ran = await repo.attempt("--literal-pathspecs", *args, "--end-of-options", *tips, "--", *map(unescaped_name, where))
    if ran.code == 0:
        return parse_log(ran.out)
    if tips == ["HEAD"] and await head_of(repo) is None:
        return []
    raise failed(repo.tool, ran)


def parse_log(said: bytes) -> list[LogEntry]:
    return [_entry(*record) for record in records(decoded(said), FIELDS)]


def _entry(oid: str, author: str, email: str, when: str, parents: str, message: str) -> LogEntry:
    who = shorten(author) or UNKNOWN
    return LogEntry(oid, who, message.strip("\n"), int(when or 0), shorten(email), parents.split())


async def head_of(repo: Repo) -> str | None:
    """The id of the checked out commit; None before the first. Raises ExecutionFailed if it is missing."""
    found = await try_commit(repo, "HEAD")
    if found is None and not await _is_unborn(repo):
        await _check_readable(repo)
        raise ExecutionFailed(
            f"{repo.tool}: HEAD names no commit that is there", hint="the repository is damaged: `git fsck` says how"
        )
    return found


async def _check_readable(repo: Repo) -> None:
    """Raises ExecutionFailed if the repository needs a newer git."""
    ran = await repo.attempt("rev-parse", "--git-dir")
    if "repository extension" in ran.err:
        repo.check(ran)


async def _is_unborn(repo: Repo) -> bool:
    """Whether HEAD names a branch without commits, and not one whose commit cannot be read."""
    if (await repo.attempt("symbolic-ref", "--quiet", "HEAD")).code != 0:
        return False
    return (await repo.attempt("rev-parse", "--verify", "--quiet", "HEAD")).code != 0


async def try_commit(repo: Repo, revision: str) -> str | None:
    ran = await repo.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return ran.out.decode().strip() if ran.code == 0 else None


async def commit_of(repo: Repo, revision: str) -> str:
    """The id of the commit that a revision names."""
    found = await try_commit(repo, revision)
    if found is None:
        await _check_readable(repo)
        raise InvalidArguments(
            f"{repo.tool}: unknown revision '{revision}'", hint="git__branch and git__log name what there is"
        )
    return found


async def empty_tree(repo: Repo) -> str:
    """The id of the empty tree, by the hash of this repository."""
    return (await repo.ask("hash-object", "-t", "tree", "--stdin", stdin=b"")).decode().strip()


async def _cursor(repo: Repo, tips: list[str], skip: int) -> str:
    listed = await repo.ask("rev-parse", "--revs-only", "--end-of-options", *tips)
    found = [word for word in listed.decode().split() if not word.startswith("-")]
    if len(found) > MOST_TIPS:
        raise InvalidArguments(f"{repo.tool}: the range starts from more than {MOST_TIPS} commits", hint="name fewer")
    return f"{skip}:{','.join(found)}"


def _read_cursor(tool: str, cursor: str) -> tuple[int, list[str]]:
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise no_cursor(tool, cursor)
    return int(found["skip"]), found["tips"].split(",")

"""The tool `show`: one commit, or one file as it was in it."""

from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.file_names import unescaped_name
from clawft.builtin.git import argument_checks
from clawft.builtin.git.diff import Context, DiffEntry, DiffPage, WithHunks, changes, line_of
from clawft.builtin.git.diff_cursor import DiffCursor, DiffStart, read_start
from clawft.builtin.git.log import LogEntry, commit_of, empty_tree, read_log
from clawft.builtin.git.page import Limit, NextCursor, counted, fitting, lines_of, offset_of, shorten
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed, InvalidArguments

PROBE = 8000
"""A null byte among the first of these marks a binary file, as for git."""


class ShowResult(Struct, frozen=True, omit_defaults=True):
    commit: LogEntry
    result: list[DiffEntry] = []
    """The changes of the commit, compared with its first parent."""
    content: str | None = None
    """The content of the file that was asked for."""
    files: int = 0
    additions: int = 0
    deletions: int = 0
    next_cursor: NextCursor = None

    def text(self) -> str:
        first = self.commit.message.partition("\n")[0]
        head = f"{self.commit.oid[:12]} {self.commit.author}: {first}"
        if self.content is not None:
            return lines_of(head, self.content.split("\n"), self.next_cursor)
        counts = f"{counted(self.files, 'file')} changed, +{self.additions} -{self.deletions}"
        return lines_of(f"{head}\n{counts}", [line_of(each) for each in self.result], self.next_cursor)


@partial_tool(alias="git_show", title="Git show", read_only=True, idempotent=True, open_world=False)
async def show(
    git: Git,
    repo_path: RepoPath,
    revision: Annotated[str, Meta(description="which commit")] = "HEAD",
    file_path: Annotated[str, Meta(description="show this file as it was then, instead of what was changed")] = "",
    hunks: WithHunks = True,
    context: Context = 3,
    limit: Limit = 500,
    cursor: DiffCursor = "",
) -> ShowResult:
    """Show a commit: author, message, and what it changed. Or, with `file_path`, a file as it was in that commit."""
    start = DiffStart() if file_path else read_start(git.tool, cursor)
    offset = offset_of(git.tool, cursor) if file_path else 0
    wanted = argument_checks.revision(git.tool, "revision", revision)
    file = argument_checks.path(git.tool, "file_path", file_path) if file_path else ""
    async with git.open(repo_path) as repo:
        [commit] = await read_log(repo, [await commit_of(repo, wanted)], [], 0, 1)
        if file:
            return _file(commit, await content_of(repo, commit.oid, file), offset, limit)
        before = commit.parents[0] if commit.parents else await empty_tree(repo)
        page = DiffPage(context if hunks else None, start, limit)
        found = await changes(repo, [], [before, commit.oid], [], page)
    return ShowResult(commit, found.result, None, found.files, found.additions, found.deletions, found.next_cursor)


async def content_of(repo: Repo, commit: str, file: str) -> bytes:
    ran = await repo.attempt("cat-file", "blob", f"{commit}:{unescaped_name(file)}")
    if ran.code != 0:
        raise InvalidArguments(f"{repo.tool}: no file '{file}' in {commit[:12]}", hint="paths start at the top")
    if b"\0" in ran.out[:PROBE]:
        raise ExecutionFailed(f"{repo.tool}: '{file}' is a binary file of {len(ran.out)} bytes")
    return ran.out


def _file(commit: LogEntry, data: bytes, offset: int, limit: int) -> ShowResult:
    """The lines of one page, so that a long file can be read on."""
    shown = [shorten(decoded(line)) for line in islice(_lines(data), offset, offset + limit + 1)]
    count = fitting(shown, limit)
    after = str(offset + count) if count < len(shown) else None
    return ShowResult(commit, content="\n".join(shown[:count]), next_cursor=after)


def _lines(data: bytes) -> Iterator[bytes]:
    """The lines as if split at every line feed, so with an empty line behind the last one."""
    for line in BytesIO(data):
        yield line.removesuffix(b"\n")
    if not data or data.endswith(b"\n"):
        yield b""

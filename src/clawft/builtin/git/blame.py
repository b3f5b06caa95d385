"""The tool `blame`: who wrote each line of a file."""

import asyncio
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.confine import confined
from clawft.builtin.file_names import unescaped_name
from clawft.builtin.git import argument_checks
from clawft.builtin.git.failure import failed
from clawft.builtin.git.log import UNKNOWN, commit_of
from clawft.builtin.git.page import Cursor, Limit, NextCursor, counted, fitting, lines_of, offset_of, shorten
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed, InvalidArguments

_HEAD = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) \d+ (\d+)(?: \d+)?")
_PAST_THE_END = re.compile(r"has only (\d+) lines?")


class BlameLine(Struct, frozen=True):
    line_number: int
    commit_id: str
    """All zeros for lines that are not committed."""
    author: str
    content: str


class BlameResult(Struct, frozen=True, omit_defaults=True):
    result: list[BlameLine]
    next_cursor: NextCursor = None

    def text(self) -> str:
        lines = [
            f"{each.line_number} {each.commit_id[:12]} {each.author}: {each.content[:120]}" for each in self.result
        ]
        return lines_of(counted(len(lines), "line"), lines, self.next_cursor)


@partial_tool(alias="git_blame", title="Git blame", read_only=True, idempotent=True, open_world=False)
async def blame(
    git: Git,
    repo_path: RepoPath,
    file_path: Annotated[str, Meta(description="file, relative to the top of the repository")],
    revision: Annotated[str, Meta(description="as it was in this commit; the file as it is now if left out")] = "",
    limit: Limit = 500,
    cursor: Cursor = "",
) -> BlameResult:
    """Tell for each line of a file which commit wrote it, who, and the line itself."""
    offset = offset_of(git.tool, cursor)
    file = argument_checks.path(git.tool, "file_path", file_path)
    wanted = argument_checks.revision(git.tool, "revision", revision) if revision else ""
    async with git.open(repo_path) as repo:
        if repo.place.bare:
            wanted = wanted or "HEAD"  # a bare repository has no current files
        if not wanted:
            await asyncio.to_thread(_check_folder, repo, file)
        commit = [await commit_of(repo, wanted)] if wanted else []
        part = f"-L{offset + 1},+{limit + 1}"
        ran = await repo.attempt("blame", "--porcelain", "--no-textconv", part, *commit, "--", unescaped_name(file))
    if ran.code != 0:
        if _PAST_THE_END.search(ran.err):
            return BlameResult([])
        raise _failed(git.tool, file, failed(git.tool, ran))
    lines = parse_blame(ran.out)
    count = fitting(lines, limit)
    return BlameResult(lines[:count], str(offset + count) if count < len(lines) else None)


def _check_folder(repo: Repo, file: str) -> None:
    """Raises PermissionDenied if a link in the place of a folder leads outside: blame alone follows it."""
    workspace = Path(os.path.realpath(repo.git.ctx.workspace))
    folder = repo.place.top / Path(unescaped_name(file)).parent
    with suppress(ExecutionFailed), confined(workspace, str(folder.relative_to(workspace)), repo.tool):
        pass  # for missing files git has the better error


def parse_blame(said: bytes) -> list[BlameLine]:
    """Parse `git blame --porcelain`, which describes a commit only with its first line."""
    authors: dict[bytes, str] = {}
    lines: list[BlameLine] = []
    commit, number = b"", 0
    for line in said.split(b"\n"):
        if line.startswith(b"\t"):
            content = shorten(decoded(line[1:].removesuffix(b"\r")))
            lines.append(BlameLine(number, commit.decode(), authors.get(commit) or UNKNOWN, content))
        elif line.startswith(b"author "):
            authors[commit] = shorten(decoded(line[7:]))
        elif found := _HEAD.fullmatch(line):
            commit, number = found[1], int(found[2])
    return lines


def _failed(tool: str, file: str, otherwise: Exception) -> Exception:
    if "invalid object name" in str(otherwise):  # and then a line of any file
        return ExecutionFailed(f"{tool}: the file that blame.ignoreRevsFile names in .git/config is no list of commits")
    if "no such path" in str(otherwise) or "no file" in str(otherwise):
        return InvalidArguments(f"{tool}: git has no file '{file}' there", hint="paths start at the repository's top")
    return otherwise

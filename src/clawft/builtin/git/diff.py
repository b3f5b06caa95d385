"""The tool `diff`: differences between commits, the index and the work tree."""

import os
import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from clawft.builtin.file_names import unescaped_name
from clawft.builtin.git import argument_checks
from clawft.builtin.git.diff_cursor import DiffCursor, DiffStart, DiffTotals, cursor_of, read_start
from clawft.builtin.git.failure import failed
from clawft.builtin.git.hunks import Hunk
from clawft.builtin.git.log import empty_tree, head_of
from clawft.builtin.git.page import Limit, NextCursor, counted, fitting, lines_of
from clawft.builtin.git.patch import DiffReading, DiffSlice, FileDiff
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.git.settings import BOUNDS
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed, InvalidArguments

Scope = Literal["all", "staged", "unstaged"]
Paths = Annotated[list[str], Meta(description="only these files or folders, relative to the top of the repository")]
WithHunks = Annotated[bool, Meta(description="with the changed lines; without, only names and counts")]
Context = Annotated[int, Meta(ge=0, le=100, description="unchanged lines around each change")]

COMMON = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    "--no-relative",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "-z",
    "--no-abbrev",
)


class DiffEntry(Struct, frozen=True, omit_defaults=True):
    status: str
    """Added, Modified, Deleted, Renamed, Copied, TypeChanged or Unmerged."""
    additions: int
    deletions: int
    old_file: str | None = None
    new_file: str | None = None
    binary: bool = False
    hunks: list[Hunk] = []
    """If they do not fit, the file comes again on the next page, with the rest of them."""


class DiffResult(Struct, frozen=True, omit_defaults=True):
    result: list[DiffEntry]
    files: int = 0
    additions: int = 0
    deletions: int = 0
    next_cursor: NextCursor = None

    def text(self) -> str:
        head = f"{counted(self.files, 'file')} changed, +{self.additions} -{self.deletions}"
        return lines_of(head, [line_of(each) for each in self.result], self.next_cursor)


class DiffPage(Struct, frozen=True):
    """The page that is asked for; without `context` only names and counts."""

    context: int | None
    start: DiffStart
    limit: int


@partial_tool(alias="git_diff", title="Git diff", read_only=True, idempotent=True, open_world=False)
async def diff(  # noqa: PLR0913, PLR0917 - each one is an argument of the tool
    git: Git,
    repo_path: RepoPath,
    revision: Annotated[str, Meta(description="compare with this commit, or a range such as main...topic")] = "",
    scope: Annotated[
        Scope, Meta(description="without a revision: what differs from HEAD, or only a part of it")
    ] = "all",
    paths: Paths = [],  # noqa: B006 - read only, and copied for each call
    hunks: WithHunks = True,
    context: Context = 3,
    limit: Limit = 200,
    cursor: DiffCursor = "",
) -> DiffResult:
    """Show what differs between HEAD and the files as they are now, or between commits: counts and changed lines.

    Untracked files are not part of it; git__status names them.
    """
    wanted = DiffPage(context if hunks else None, read_start(git.tool, cursor), limit)
    where = argument_checks.paths(git.tool, paths)
    if revision and scope == "unstaged":
        raise InvalidArguments(f"{git.tool}: 'scope' unstaged has no revision", hint="leave one of the two out")
    ends = [argument_checks.revision(git.tool, "revision", revision)] if revision else []
    async with git.open(repo_path) as repo:
        return await _changed(repo, ends, scope, where, wanted)


async def _changed(repo: Repo, ends: list[str], scope: Scope, where: Sequence[str], wanted: DiffPage) -> DiffResult:
    if scope == "unstaged":
        return await changes(repo, ["--ours"], [], where, wanted)
    options = ["--cached"] if scope == "staged" else []
    try:
        return await changes(repo, options, ends or ["HEAD"], where, wanted)
    except ExecutionFailed:
        if ends or await head_of(repo):
            raise
    return await changes(repo, options, [await empty_tree(repo)], where, wanted)


async def changes(
    repo: Repo, options: list[str], ends: Sequence[str], where: Sequence[str], wanted: DiffPage
) -> DiffResult:
    """One page of the output of `git diff`."""
    start = wanted.start
    read = DiffReading(DiffSlice(wanted.context, start.skip, wanted.limit, 0 if start.totals else BOUNDS.counts_bytes))
    submodules = [] if repo.trusted else ["--ignore-submodules=dirty"]
    rest = [*submodules, *options, "--end-of-options", *ends, "--", *map(unescaped_name, where)]
    skipped = [f"--skip-to={os.fsdecode(start.name)}"] if start.name else []
    shape = [*COMMON, "--raw", "--patch", f"-U{wanted.context or 0}", "--inter-hunk-context=0", *skipped]
    ran = await repo.attempt("--literal-pathspecs", "diff", *shape, *rest, hear=read.feed)
    if ran.had_enough:
        return _result(read, start.totals or await _totals(repo, len(read.sections), rest))
    if ran.code != 0:
        raise _gone(repo.tool) if start.name and "No such path" in ran.err else failed(repo.tool, ran)
    read.end()
    return _result(read, start.totals or DiffTotals(len(read.sections), read.additions, read.deletions))


async def _totals(repo: Repo, files: int, rest: Sequence[str]) -> DiffTotals:
    counted = decoded(await repo.ask("--literal-pathspecs", "diff", *COMMON, "--shortstat", *rest))
    counts = [re.search(rf"(\d+) {word}", counted) for word in ("insertion", "deletion")]
    return DiffTotals(files, *(int(found[1]) if found else 0 for found in counts))


def _gone(tool: str) -> InvalidArguments:
    return InvalidArguments(
        f"{tool}: the file where this page begins no longer differs", hint="start again without cursor"
    )


def _result(read: DiffReading, totals: DiffTotals) -> DiffResult:
    """The page, which ends between pieces of hunks."""
    units = [(read.files[unit.file], unit.piece) for unit in read.units]
    count = fitting([_unit(*unit) for unit in units], read.wanted.limit)
    after = read.units[count] if count < len(units) else read.after
    return DiffResult(
        _grouped(units[:count]),
        files=totals.files,
        additions=totals.additions,
        deletions=totals.deletions,
        next_cursor=cursor_of(*read.start_of(after), totals) if after else None,
    )


def line_of(entry: DiffEntry) -> str:
    name = entry.new_file or entry.old_file
    came = f" (was {entry.old_file})" if entry.old_file and entry.new_file and entry.old_file != entry.new_file else ""
    count = "binary" if entry.binary else f"+{entry.additions} -{entry.deletions}"
    return f"{entry.status}: {name}{came} {count}"


def _unit(changed: FileDiff, piece: Hunk | None) -> DiffEntry:
    return DiffEntry(
        changed.status,
        changed.additions,
        changed.deletions,
        changed.old_file,
        changed.new_file,
        changed.binary,
        [] if piece is None else [piece],
    )


def _grouped(units: Sequence[tuple[FileDiff, Hunk | None]]) -> list[DiffEntry]:
    """Entries with the pieces of each file together."""
    entries: list[DiffEntry] = []
    last: FileDiff | None = None
    for changed, piece in units:
        if changed is last and piece is not None:
            entries[-1] = msgspec.structs.replace(entries[-1], hunks=[*entries[-1].hunks, piece])
        else:
            entries.append(_unit(changed, piece))
        last = changed
    return entries

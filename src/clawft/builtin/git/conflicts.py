"""The tool `conflicts`: the files a merge could not decide, with their versions."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.file_names import escaped_bytes
from clawft.builtin.git.page import Cursor, Limit, NextCursor, counted, lines_of, offset_of, page, shorten
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.git.settings import BOUNDS
from clawft.builtin.git.unfinished import state_of
from clawft.builtin.partial_tool import partial_tool

STAGES = {"1": "base", "2": "ours", "3": "theirs"}


class Side(Struct, frozen=True, omit_defaults=True):
    oid: str
    mode: str
    content: str | None = None


class Conflict(Struct, frozen=True, omit_defaults=True):
    path: str
    base: Side | None = None
    """None if the file did not exist."""
    ours: Side | None = None
    theirs: Side | None = None

    def kind(self) -> str:
        there = [name for name, side in (("ours", self.ours), ("theirs", self.theirs)) if side]
        if len(there) == 2:
            return "both changed it" if self.base else "both added it"
        return f"only in {there[0]}" if there else "both deleted it"


class ConflictsResult(Struct, frozen=True, omit_defaults=True):
    result: list[Conflict]
    state: str | None = None
    """The operation under way: merge, rebase, cherry-pick, revert or nothing."""
    next_cursor: NextCursor = None

    def text(self) -> str:
        lines = [f"{each.path}: {each.kind()}" for each in self.result]
        head = counted(len(lines), "conflict") if lines else "no conflicts"
        return lines_of(f"{head}{f' of a {self.state}' if self.state else ''}", lines, self.next_cursor)


@partial_tool(alias="git_conflicts", title="Git conflicts", read_only=True, idempotent=True, open_world=False)
async def conflicts(
    git: Git,
    repo_path: RepoPath,
    contents: Annotated[bool, Meta(description="with the text of each side")] = False,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> ConflictsResult:
    """List the files a merge could not decide, with the three versions of each: base, ours, theirs.

    To resolve one, write the file as it should be and call git__add with its path.
    """
    offset = offset_of(git.tool, cursor)
    async with git.open(repo_path) as repo:
        found = parse_unmerged(await repo.ask("ls-files", "--unmerged", "-z"))
        if contents:
            found = await _filled(repo, found)
        state = await asyncio.to_thread(state_of, repo.place)
    shown, after = page(found, offset, limit)
    return ConflictsResult(shown, state, after)


def parse_unmerged(said: bytes) -> list[Conflict]:
    """Parse records `mode id stage\\tpath`, one for each version of a file."""
    sides: dict[str, dict[str, Side]] = {}
    for record in filter(None, said.split(b"\0")):
        head, _, path = record.partition(b"\t")
        mode, oid, number = head.decode().split(" ")
        sides.setdefault(escaped_bytes(path), {})[STAGES[number]] = Side(oid, mode)
    return [Conflict(path, **found) for path, found in sides.items()]


async def _filled(repo: Repo, found: list[Conflict]) -> list[Conflict]:
    async def fill(side: Side | None) -> Side | None:
        if side is None:
            return None
        ran = await repo.attempt("cat-file", "blob", side.oid)
        if ran.code != 0 or b"\0" in ran.out:  # a submodule, or a binary file
            return side
        return Side(side.oid, side.mode, shorten(decoded(ran.out), BOUNDS.side_chars))

    return [
        Conflict(each.path, await fill(each.base), await fill(each.ours), await fill(each.theirs))
        for each in found[: BOUNDS.page_items]
    ]

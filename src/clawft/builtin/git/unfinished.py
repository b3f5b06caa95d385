"""Detects an unfinished merge, rebase or the like, which no tool ends for whoever began it."""

import asyncio
from collections.abc import Collection, Iterable

from msgspec import Struct

from clawft.builtin.file_names import escaped_bytes
from clawft.builtin.git.repo import Repo
from clawft.builtin.git.repository_paths import RepositoryPaths
from clawft.errors import ExecutionFailed

STATES = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
NAMED = 5
"""Files that an error names."""


class Unfinished(Struct, frozen=True):
    state: str | None
    """merge, rebase, cherry-pick, revert or nothing."""
    conflicts: list[str]


def state_of(place: RepositoryPaths) -> str | None:
    return next((state for name, state in STATES.items() if (place.git_dir / name).exists()), None)


async def unfinished(repo: Repo) -> Unfinished:
    state = await asyncio.to_thread(state_of, repo.place)
    entries = filter(None, (await repo.ask("ls-files", "--unmerged", "-z")).split(b"\0"))
    return Unfinished(state, list(dict.fromkeys(escaped_bytes(entry.partition(b"\t")[2]) for entry in entries)))


async def check_finished(repo: Repo, *, but: Collection[str] = ()) -> None:
    """Raises ExecutionFailed if anything but these states is under way, or if there are conflicts."""
    found = await unfinished(repo)
    if found.state and (found.conflicts or found.state not in but):
        raise _under_way(repo.tool, found.state, found.conflicts)
    if found.conflicts:
        raise unresolved(repo.tool, found.conflicts)


def unresolved(tool: str, conflicts: Iterable[str]) -> ExecutionFailed:
    return ExecutionFailed(
        f"{tool}: conflicts are not resolved: {', '.join(list(conflicts)[:NAMED])}",
        hint="git__conflicts shows them; git__add with their paths says that they are resolved",
    )


def _under_way(tool: str, state: str, conflicts: list[str]) -> ExecutionFailed:
    where = f", with conflicts in {', '.join(conflicts[:NAMED])}" if conflicts else ""
    resolve = "resolve them (git__conflicts, git__add), then " if conflicts else ""
    on = "a person goes on by git rebase --continue" if state == "rebase" else "git__commit with paths=[] ends it well"
    return ExecutionFailed(
        f"{tool}: a {state} is not finished here{where}", hint=f"{resolve}{on}; git {state} --abort gives it up"
    )

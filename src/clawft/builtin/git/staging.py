"""Stages changes: exactly the files that `git status` names, one by one."""

import asyncio
import os
from collections.abc import Iterable, Sequence

from msgspec import Struct

from clawft.builtin.file_names import escaped_bytes, unescaped_bytes
from clawft.builtin.git.failure import unseen
from clawft.builtin.git.hostile_config import untrusted
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.repo import Repo
from clawft.builtin.git.settings import DRAFT
from clawft.builtin.git.status import StatusRecord, read_status
from clawft.builtin.git.unfinished import unresolved
from clawft.errors import InvalidArguments

NO_FILTER = (b"unspecified", b"unset", b"set")


class Staged(Struct, frozen=True):
    names: list[str]
    """Files that were not staged before."""
    paths: frozenset[bytes]
    """All files that were asked for."""
    embedded: list[str]
    """New repositories among them: of each only the commit it is at is staged, and none of its files."""
    others: list[StatusRecord]
    """Other changes that were staged before."""


async def stage(repo: Repo, paths: Sequence[str] | None) -> Staged:
    """Stage everything, or what lies at these paths; also deletions.

    Not by `git add`: that looks into submodules, with their unchecked configuration.
    """
    known = (await read_status(repo, renames=False)).changes
    changes = [each for each in known if not _is_draft(each) and not repo.is_ours(os.fsdecode(each.path))]
    chosen = changes if paths is None else _chosen(repo.tool, changes, paths)
    if paths is None:
        check_resolved(repo.tool, changes)
    changed = [change for change in chosen if change.untracked or change.worktree != "."]
    gone = [change.path for change in changed if change.gone]
    there = [change.path.rstrip(b"/") for change in changed if not change.gone]
    await _check_seen(repo, gone)
    if there:
        await _check_filters(repo, there)
    # Apart, and those that are gone first: a file that git does not see in its cell would count as one of them.
    # By force, as a link may stand in the place of their folder, and git looks at nothing behind one.
    for how, names in ((["--force-remove"], gone), (["--add", "--replace"], there)):
        if names:
            await repo.ask("update-index", "-z", *how, "--stdin", stdin=b"\0".join(names) + b"\0", write=True)
    return _staged(known, chosen, changed)


def _staged(known: Sequence[StatusRecord], chosen: Sequence[StatusRecord], changed: Sequence[StatusRecord]) -> Staged:
    paths = frozenset(change.path.rstrip(b"/") for change in chosen)
    others = [each for each in known if not each.untracked and each.index != "." and each.path not in paths]
    embedded = [each.path for each in changed if each.untracked and each.path.endswith(b"/")]
    return Staged(_names(each.path for each in changed), paths, _names(embedded), others)


def _names(paths: Iterable[bytes]) -> list[str]:
    return [escaped_bytes(path.rstrip(b"/")) for path in paths]


def line_of_embedded(embedded: Sequence[str]) -> list[str]:
    """A line for the short text."""
    return [f"only the commit of each repository in {', '.join(embedded)}, not its files"] if embedded else []


def check_resolved(tool: str, changes: Sequence[StatusRecord]) -> None:
    conflicted = [escaped_bytes(change.path) for change in changes if change.conflicted]
    if conflicted:
        raise unresolved(tool, conflicted)


def _is_draft(change: StatusRecord) -> bool:
    """Whether this belongs to a clone in another call that is not finished."""
    return change.untracked and any(part.startswith(DRAFT.encode()) for part in change.path.split(b"/"))


def _chosen(tool: str, changes: Sequence[StatusRecord], paths: Sequence[str]) -> list[StatusRecord]:
    chosen: list[StatusRecord] = []
    for path in paths:
        wanted = unescaped_bytes(path)
        found = [each for each in changes if path == "." or each.path == wanted or each.path.startswith(wanted + b"/")]
        if not found:
            raise InvalidArguments(
                f"{tool}: nothing to stage at '{path}'",
                hint="unchanged, ignored, weft's own, or not there; see git__status",
            )
        chosen += found
    return list({change.path: change for change in chosen}.values())


async def _check_seen(repo: Repo, gone: Sequence[bytes]) -> None:
    """Refuse if a file seems deleted only because git cannot see it in its cell: the commit would delete it."""
    hidden = await asyncio.to_thread(_first_there, os.fsencode(repo.place.top), gone) if gone else None
    if hidden is not None:
        raise unseen(repo.tool, escaped_bytes(hidden))


def _first_there(top: bytes, paths: Sequence[bytes]) -> bytes | None:
    top = os.path.realpath(top)
    return next((path for path in paths if _is_file(os.path.join(top, path))), None)


def _is_file(path: bytes) -> bool:
    """Whether it is a file of the repository: not behind a link."""
    folder = os.path.dirname(path)
    return os.path.realpath(folder) == folder and os.path.lexists(path) and not os.path.isdir(path)


async def _check_filters(repo: Repo, names: Sequence[bytes]) -> None:
    """Refuse files with a filter, such as those of Git LFS: without it they would be committed unfiltered."""
    if repo.trusted:
        return
    listed = await repo.ask("check-attr", "-z", "--stdin", "filter", stdin=b"\0".join(names) + b"\0")
    words = listed.split(b"\0")
    for name, _, value in zip(words[::3], words[1::3], words[2::3], strict=False):
        if value not in NO_FILTER:
            raise untrusted(
                repo.tool, f"'{escaped_bytes(name)}' is to pass the filter '{decoded(value)}', which is a program"
            )

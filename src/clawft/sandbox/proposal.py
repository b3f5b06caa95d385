"""Proposes a sandbox table that would allow a server what it did in observed runs, leaving out what is risky. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from msgspec import Struct

from clawft.sandbox.bounds import (
    HOMES,
    RUNNING,
    SECRETS,
    SYSTEM,
    TEMPORARY,
    FoldersAround,
    SandboxTable,
    is_within,
    may_be_opened,
)
from clawft.sandbox.home_places import holds_programs, is_shared, runs_later
from clawft.sandbox.observed_run import ObservedRun

MAX_NAMED = 100
"""Paths of one kind in a proposal; a server that needs more needs `auto`."""
MAX_TOLD = 10


RealPath = Callable[[str], str]


def as_it_is(path: str) -> str:
    return path


class Proposal(Struct, frozen=True):
    table: SandboxTable
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """Absolute paths in the table that are written as folders: those that are missing have to be made."""


def propose(seen: ObservedRun, around: FoldersAround, real: RealPath = as_it_is) -> Proposal:
    """The part of the home folder and the workspace that the server used, and all places where it wrote.

    A server may have touched things to get them proposed: secrets, what decides what runs later, and what others share
    is reported and never proposed. `real`: resolves links, as opening a link opens its target.
    """
    wrote = {_unit(path, around) for path in seen.wrote if _counts(path, around, writing=True)}
    read = {_unit(path, around) for path in seen.read if _counts(path, around, writing=False)}
    wrote = _outermost({path for path in wrote if not _refused(path, around, real, writing=True)})
    read = {path for path in read if not _refused(path, around, real, writing=False)}
    read = {path for path in read if path not in wrote and not _is_below_any(path, wrote)}
    table = SandboxTable(
        read=_listed(read, around), write=_listed(wrote, around), network=tuple(sorted(seen.names)[:MAX_NAMED])
    )
    folders = {_unit(path, around) for path in seen.wrote if path in seen.made or _unit(path, around) != path}
    notes = (*_left_out(read, wrote, seen.names), *_notes(seen, around, real))
    return Proposal(table, notes, tuple(sorted(folders & wrote)[:MAX_NAMED]))


def _left_out(*kinds: set[str]) -> Iterator[str]:
    more = sum(max(0, len(each) - MAX_NAMED) for each in kinds)
    if more:
        yield f'it used {more} more places or hosts than a table has room for; sandbox = "auto" suits it better'


def _outermost(paths: set[str]) -> set[str]:
    return {path for path in paths if not _is_below_any(path, paths)}


def _is_below_any(path: str, folders: set[str]) -> bool:
    """Walks up the path, so that thousands of folders cost no more: a server may have made so many to keep us busy."""
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        if path in folders:
            return True
    return False


def _notes(seen: ObservedRun, around: FoldersAround, real: RealPath) -> Iterator[str]:
    secrets = sorted({secret for path in seen.missed | seen.read | seen.wrote if (secret := _secret(path, around))})
    for secret in secrets:
        yield f"it looked for {_short(secret, around)}, which is hidden and not proposed"
    yield from _not_proposed(seen.wrote, "write to", around, real, writing=True)
    yield from _not_proposed(seen.read, "read", around, real, writing=False)
    if seen.addresses and not seen.names:
        yield f'it called {", ".join(sorted(seen.addresses)[:5])} by number; network = ["*"] allows that'
    elif seen.names:
        yield 'hosts are reached through a proxy it must know how to use; if it does not, network = ["*"]'


def _not_proposed(
    paths: Iterable[str], what: str, around: FoldersAround, real: RealPath, *, writing: bool
) -> Iterator[str]:
    units = {_unit(path, around) for path in paths if _counts(path, around, writing=writing)}
    refused = sorted((unit, why) for unit in units if (why := _refused(unit, around, real, writing=writing)))
    for unit, why in refused[:MAX_TOLD]:
        yield f"it wanted to {what} {ascii(_short(unit, around))[1:-1]}, which {why}: not proposed"
    if len(refused) > MAX_TOLD:
        yield f"it wanted to {what} {len(refused) - MAX_TOLD} more that are not proposed"


def _refused(unit: str, around: FoldersAround, real: RealPath, *, writing: bool) -> str:
    """Why the path is not proposed; empty if it is."""
    places = dict.fromkeys((unit, real(unit)))
    return next(filter(None, (_wrong_with(place, around, writing=writing) for place in places)), "")


def _wrong_with(unit: str, around: FoldersAround, *, writing: bool) -> str:
    if not may_be_opened(unit, around.home) or is_shared(unit, around.home):
        return "is much more than one program needs"
    if not unit.isprintable():
        return "has letters in its name that cannot be shown"
    if writing and _is_of_others(unit, around):
        return "lies in the home of somebody else"
    if writing and runs_later(unit, around.home):
        return "decides what runs at your next login, or later"
    if writing and holds_programs(unit, around.home):
        return "holds programs that others run"
    if writing and any(is_within(each, unit) for each in (*TEMPORARY, RUNNING, *SYSTEM)):
        return "holds folders of the system"
    return ""


def _is_of_others(unit: str, around: FoldersAround) -> bool:
    ours = is_within(unit, around.home) or _in_workspace(unit, around)
    return not ours and any(is_within(unit, each) for each in HOMES)


def _counts(path: str, around: FoldersAround, *, writing: bool) -> bool:
    """Whether the table has to name this path: not if it is open to every server, or a secret."""
    if _secret(path, around) or is_within(path, around.own):
        return False
    if _in_workspace(path, around):
        return True
    if is_within(path, around.home):
        return writing or not any(is_within(path, each) for each in around.program)
    return writing and path != "/" and not any(is_within(path, each) for each in (*TEMPORARY, RUNNING, *SYSTEM))


def _in_workspace(path: str, around: FoldersAround) -> bool:
    """Whether the path is in the workspace; never, if that holds the home folder."""
    return may_be_opened(around.workspace, around.home) and is_within(path, around.workspace)


def _secret(path: str, around: FoldersAround) -> str:
    kept = (*(f"{around.home}/{name}" for name in SECRETS), around.state, *around.moved, *around.of_system)
    if is_within(path, around.own):
        return ""
    return next((secret for secret in kept if is_within(path, secret)), "")


def _unit(path: str, around: FoldersAround) -> str:
    """The folder that the table names: the workspace, a program's own folder in the home folder, or else the file's
    folder.
    """
    if _in_workspace(path, around):
        return around.workspace
    parts = PurePosixPath(path).parts
    if is_within(path, around.home):
        top = len(PurePosixPath(around.home).parts)
        shared = parts[top : top + 1] in ((".config",), (".cache",), (".local",))
        depth = top + (3 if parts[top : top + 1] == (".local",) else 2 if shared else 1)
        return str(PurePosixPath(*parts[:depth]))
    return str(PurePosixPath(path).parent)


def _listed(paths: set[str], around: FoldersAround) -> tuple[str, ...]:
    return tuple(_short(path, around) for path in sorted(paths)[:MAX_NAMED])


def _short(path: str, around: FoldersAround) -> str:
    if path == around.workspace:
        return "."
    return f"~{path[len(around.home) :]}" if is_within(path, around.home) else path

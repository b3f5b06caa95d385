"""The cell a built-in family's commands run in: what its manifest grants, held by what this machine has."""

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import msgspec

import clawft
from clawft.provider.manifest import Manifest, expand, places
from clawft.sandbox.account_secrets import secrets_of_account, secrets_of_system
from clawft.sandbox.bounds import FoldersAround, PathRule, bounds_of, is_within, may_be_opened, with_rules
from clawft.sandbox.cell import PROXY_SOCKET, Cell
from clawft.sandbox.means import means
from clawft.sandbox.probe import Means
from clawft.sandbox.program import folders_of
from clawft.store.home import home

CACHES = tuple(
    f"~/{name}"
    for name in (
        ".cache .npm .cargo/registry .cargo/git .gradle .m2 go/pkg .local/share/uv .local/share/pnpm/store"
    ).split()
)
"""Caches of the user's programs, without which hardly anything builds. Around pnpm's store is a folder of the PATH."""

OURS = (".clawft", ".mcp.json")
"""Parts of the workspace that commands may only read. `.git` is not one: `git`, a command too, writes it."""
_REFUSED = tuple(os.strerror(number) for number in (errno.EROFS, errno.EBUSY))
"""Messages of programs that want to write such a part, or to put another in its place."""


def cell_for(
    manifest: Manifest,
    setting: str,
    workspace: Path,
    argv: Sequence[str],
    cwd: str,
    *,
    also: Iterable[PathRule] = (),
    network: tuple[str, ...] | None = None,
) -> Cell:
    """The cell for a command. Looks at files, so run it in a thread. `setting` is `auto`, `off`, `strict` or `require`.

    The rules in `also` win over all others about paths; `network` lists hosts in place of the manifest's.
    """
    granted = (*manifest.permissions.filesystem, *CACHES)
    bounds = bounds_of(setting, around(workspace, argv, cwd, granted, kept=OURS))
    if bounds is not None:
        hosts = manifest.permissions.network if network is None else network
        hosts = () if setting == "strict" else hosts
        bounds = with_rules(msgspec.structs.replace(bounds, network=hosts), also)
    return Cell(bounds, this_machine())


def around(
    workspace: Path, argv: Sequence[str], cwd: str, granted: Iterable[str] = (), *, kept: tuple[str, ...] = ()
) -> FoldersAround:
    """The folders around a command that runs in `cwd`."""
    known = places(workspace)
    user, place = os.path.realpath(known["~"]), str(workspace.resolve())
    program, _ = folders_of([os.path.join(cwd, argv[0])], user, cwd)  # a relative path is run from there
    named = [str(expand(entry, known)) for entry in granted]
    return FoldersAround(
        home=user,
        state=os.path.realpath(home()),
        workspace=place,
        cwd=place,
        own="",
        program=(*program, *_proxy_socket(user)),
        kept=kept,
        weft=tuple(folder for folder in _own_program() if not is_within(folder, place)),
        named=tuple(os.path.realpath(path) for path in named if os.path.isdir(path)),
        moved=secrets_of_account(user),
        of_system=secrets_of_system(),
    )


@cache
def _proxy_socket(user: str) -> tuple[str, ...]:
    """The folders of the helper that opens the cell's proxy, which runs inside."""
    return folders_of((sys.executable, PROXY_SOCKET), user, "/")[0]


def note_on_kept(cell: Cell, said: str) -> str:
    """A note for the output of a command that was kept from such a part of the workspace; empty if none was."""
    rules = () if cell.bounds is None else cell.bounds.rules
    read_only = {rule.path for rule in rules if rule.access == "read"}
    lines = [line for line in said.splitlines() if any(refused in line for refused in _REFUSED)]
    held = [name for name in OURS if any(path.endswith(f"/{name}") for path in read_only) and name in "".join(lines)]
    if not held:
        return ""
    return (
        f"sandbox: commands may only read {' and '.join(held)} of the workspace, which decides what servers start; "
        "git__switch, git__restore and git__pull, or a person, may change it\n"
    )


@cache
def _own_program() -> tuple[str, ...]:
    """The folders of our code and our Python: uv keeps them among its caches, and no sandbox holds who writes them."""
    folders = (sys.prefix, sys.base_prefix, os.path.dirname(clawft.__file__))
    return tuple(dict.fromkeys(map(os.path.realpath, folders)))


def worked_on(folder: Path) -> tuple[PathRule, ...]:
    """A rule to write to a folder in a read-only workspace; none if it is or holds the home folder."""
    user = os.path.realpath(places(folder)["~"])
    return (PathRule(str(folder), "write"),) if may_be_opened(str(folder), user) else ()


def this_machine() -> Means:
    """The sandbox means of this machine; tried out if there is no record since it was booted."""
    return means(home() / "cache")

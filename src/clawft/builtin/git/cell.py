"""The sandbox of git: what this kind of work in this repository needs, and no more.

| repository | reads | writes | network |
|---|---|---|---|
| not trusted, looked at | the system, the workspace | nothing | none |
| not trusted, worked in | the same | the workspace | hosts of the manifest while it fetches or pushes |
| trusted | all but secrets that are not git's | the workspace, caches, gpg's key ring | the same, for hooks too |

The first kind starts nothing, connects nowhere and writes nothing anyway, and is what agents do all day: with `auto` it
runs without a cell, whose start takes longer than git does. There git goes by the configuration that was checked (see
`kept_config`).

SSH uses no proxy. Where git has to speak it the network is open, and git was told the one host it goes to.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from clawft.builtin.cells import CACHES, around, this_machine
from clawft.builtin.git.run import RunPurpose
from clawft.builtin.git.settings import GitSettings
from clawft.sandbox.bounds import ANY_HOST, Bounds, FoldersAround, PathRule, bounds_of, is_within, with_rules
from clawft.sandbox.cell import Cell

KEYS = (".ssh",)
CREDENTIALS = (*KEYS, ".git-credentials", ".netrc", ".config/git/credentials", ".config/gh")
"""Below the home folder: credentials that git and its helpers use."""
OWN_CONFIGURATION = (".gitconfig", ".config/git/config")
KEY_RING = ".gnupg"
OF_OTHERS = "/etc/ssh/ssh_config.d"
"""Hidden: in a user namespace these files seem to belong to nobody, and ssh refuses to run then."""
SSH, HTTPS = "ssh", "https"


class CellSurroundings(Struct, frozen=True):
    """The surroundings that all cells of one call need; looked up once."""

    around: FoldersAround
    named: tuple[str, ...] = ()
    """Paths in variables the user lets git have, such as the socket of a key agent."""


def surroundings_of(
    program: str, workspace: Path, settings: GitSettings, environ: Mapping[str, str] = os.environ
) -> CellSurroundings:
    """Looks at files, so run it in a thread."""
    named = [environ[name].removeprefix("unix:path=") for name in settings.variables if name in environ]
    paths = tuple(os.path.realpath(path) for path in named if os.path.isabs(path) and os.path.exists(path))
    return CellSurroundings(around(workspace, [program], str(workspace), CACHES), paths)


async def cell_now(surroundings: CellSurroundings, purpose: RunPurpose, settings: GitSettings) -> Cell | None:
    """The cell, made in a thread, as sandbox means may have to be tried out; None where none is needed."""
    return None if _is_spared(purpose, settings) else await asyncio.to_thread(cell_of, surroundings, purpose, settings)


def looks_without(settings: GitSettings) -> bool:
    """Whether git looks at untrusted repositories without a cell."""
    return _is_spared(RunPurpose(trusted=False), settings)


def _is_spared(purpose: RunPurpose, settings: GitSettings) -> bool:
    return settings.sandbox == "off" or (settings.sandbox == "auto" and purpose.only_looks)


def cell_of(surroundings: CellSurroundings, purpose: RunPurpose, settings: GitSettings) -> Cell | None:
    """The cell; None if the user wants none, or the work needs none."""
    if _is_spared(purpose, settings):
        return None
    open_to_user = purpose.trusted and settings.sandbox != "strict"
    bounds = _open(surroundings) if open_to_user else _closed(surroundings)
    return Cell(
        msgspec.structs.replace(
            with_rules(bounds, _rules(surroundings.around, purpose)),
            network=_network(purpose, settings.manifest().permissions.network),
            required=settings.sandbox == "require",
        ),
        this_machine(),
    )


def _open(surroundings: CellSurroundings) -> Bounds:
    """The bounds in a trusted repository: like for the user, but without secrets that git does not need."""
    home = surroundings.around.home
    rules = [PathRule(f"{home}/{name}", "read") for name in CREDENTIALS]
    rules += [PathRule(f"{home}/{KEY_RING}", "write"), PathRule(f"/run/user/{os.getuid()}/gnupg", "read")]
    rules += [PathRule(path, "write") for path in surroundings.named]
    return with_rules(bounds_of("auto", surroundings.around) or Bounds(()), rules)


def _closed(surroundings: CellSurroundings) -> Bounds:
    return bounds_of("strict", msgspec.structs.replace(surroundings.around, named=())) or Bounds(())


def _rules(known: FoldersAround, purpose: RunPurpose) -> list[PathRule]:
    rules = [
        PathRule(known.workspace, "write" if purpose.write or purpose.trusted else "read"),
        PathRule(OF_OTHERS, "hide"),
    ]
    if is_within(known.state, known.workspace):
        rules.append(PathRule(known.state, "hide"))  # a workspace that is a whole home contains our own folder
    if purpose.users_own:
        rules += [PathRule(f"{known.home}/{name}", "read") for name in OWN_CONFIGURATION]
    if SSH in purpose.protocols:
        rules += [PathRule(f"{known.home}/{name}", "read") for name in KEYS]
    return rules


def _network(purpose: RunPurpose, hosts: tuple[str, ...]) -> tuple[str, ...]:
    if SSH in purpose.protocols:
        return (ANY_HOST,)
    started_by_us = HTTPS in purpose.protocols
    by_hooks_and_filters = purpose.trusted and purpose.write
    return hosts if started_by_us or by_hooks_and_filters else ()

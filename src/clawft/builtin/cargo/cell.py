"""The sandbox of cargo, and of the compiler, build scripts and tests it starts.

It may read what the user can, except secrets, and write to the workspace, cargo's downloads and caches. Files that
decide about later runs (`bin`, `config.toml` and `env` of cargo's own folder) are protected. The network is limited to
the hosts of the manifest and of registries in the user's own cargo configuration.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from clawft.builtin.cargo.family import MANIFEST, CargoRequest
from clawft.builtin.cargo.registry import read_config
from clawft.builtin.cells import cell_for, this_machine, worked_on
from clawft.provider.manifest import places
from clawft.sandbox.bounds import PathRule
from clawft.sandbox.cell import Cell

DOWNLOADS = "static.crates.io"
"""The host that crates.io redirects downloads to."""
FETCHED = ("registry", "git")
LOCKS = (".package-cache", ".package-cache-mutate")
CREDENTIALS = ("credentials.toml", "credentials")


def cargo_cell(argv: Sequence[str], folder: Path, ruling: Path, request: CargoRequest, workspace: Path) -> Cell:
    """The cell. Run it in a thread: it looks at files, and makes those of cargo's folder that cargo itself cannot."""
    if request.settings.sandbox == "off":
        return Cell(None, this_machine())
    also = (*worked_on(ruling), *own_folder(workspace, publishes=request.publishes))
    network = (*hosts(read_config(_home(workspace))), *request.settings.hosts)
    return cell_for(MANIFEST, request.settings.sandbox, workspace, argv, str(folder), also=also, network=network)


def own_folder(workspace: Path, *, publishes: bool = False) -> tuple[PathRule, ...]:
    """The rules for cargo's own folder, whose missing parts are made."""
    home = _home(workspace)
    _make_room(home)
    return tuple(rules(home, _toolchains(places(workspace)["~"]), publishes=publishes))


def _home(workspace: Path) -> Path:
    return Path(os.path.realpath(places(workspace)["$CARGO_HOME"]))


def rules(home: Path, toolchains: str, *, publishes: bool) -> Iterator[PathRule]:
    """The rules for cargo's own folder and for its toolchains."""
    yield from (PathRule(str(home), "read"), PathRule(toolchains, "read"))
    yield from (PathRule(str(home / name), "write") for name in (*FETCHED, *LOCKS))
    yield from (PathRule(str(home / name), "read" if publishes else "hide") for name in CREDENTIALS)


def hosts(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The hosts of the manifest, and of every registry and mirror in the user's cargo configuration."""
    named = [*_addresses(config.get("registries"), "index"), *_addresses(config.get("source"), "registry")]
    own = (urlsplit(address.removeprefix("sparse+")).netloc.rpartition("@")[2] for address in named)
    return (*MANIFEST.permissions.network, DOWNLOADS, *filter(None, own))


def _addresses(tables: object, key: str) -> Iterator[str]:
    for table in cast("dict[str, Any]", tables).values() if isinstance(tables, dict) else ():
        value = cast("dict[str, Any]", table).get(key) if isinstance(table, dict) else None
        if isinstance(value, str):
            yield value


def _toolchains(user: str) -> str:
    return os.path.realpath(os.environ.get("RUSTUP_HOME") or f"{user}/.rustup")


def _make_room(home: Path) -> None:
    """Make the folders and files, as only existing ones can be opened to a cell; cargo can do without."""
    try:
        for name in FETCHED:
            (home / name).mkdir(parents=True, exist_ok=True)
        for name in LOCKS:
            (home / name).touch()
    except OSError:
        return

"""The cell each server runs in: its setting, and the folders around it, put together when it starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

from clawft.sandbox.account_secrets import secrets_of_account, secrets_of_system
from clawft.sandbox.autorun_search import autorun_files_below
from clawft.sandbox.bounds import (
    AUTORUN_FILES,
    MOVED,
    SECRETS,
    FoldersAround,
    SandboxTable,
    bounds_of,
    is_within,
    may_be_opened,
)
from clawft.sandbox.cell import PROXY_SOCKET, Cell
from clawft.sandbox.home_places import is_shared, runs_later
from clawft.sandbox.means import means
from clawft.sandbox.probe import work_in
from clawft.sandbox.program import folders_of, leads_out
from clawft.sandbox.settled_rules import present_in
from clawft.store.names import folder_name
from clawft.store.private_files import private_dir
from clawft.upstream.spec import UpstreamSpec

MEMORY_SHARE = 2
"""Of the machine's memory, for one process of a server: one in so many parts."""


class Cells:
    """`state` is our own folder: no server sees it, but each gets one in it to fill as it likes."""

    def __init__(self, state: Path, workspace: Path) -> None:
        self._state = Path(os.path.realpath(state))
        self._workspace = os.path.realpath(workspace)
        work_in(self._workspace)
        self._home = os.path.realpath(Path.home())

    def cell(self, spec: UpstreamSpec, argv: Sequence[str], cwd: str) -> Cell:
        bounds = bounds_of(spec.sandbox, self.around(spec, argv, cwd))
        found = means(self._state / "cache")
        if bounds is None:
            return Cell(None, found)
        return Cell(msgspec.structs.replace(bounds, home=self._home), found, most_memory())

    def around(self, spec: UpstreamSpec, argv: Sequence[str], cwd: str) -> FoldersAround:
        home = self._home
        words = (*argv, *(value for value in spec.env.values() if os.path.isabs(value) and self._may_name(value)))
        program, named = folders_of(words, home, cwd, self._workspace)
        if spec.is_local:
            named = tuple(folder for folder in named if is_within(folder, self._workspace))
        if isinstance(spec.sandbox, SandboxTable) and spec.sandbox.network:
            program += folders_of((sys.executable, PROXY_SOCKET), home, cwd)[0]  # which runs inside
        return FoldersAround(
            home=home,
            state=str(self._state),
            workspace=self._workspace,
            cwd=self._workspace if self._leaves(spec) else cwd,
            own=os.path.realpath(self._own(spec)) if spec.sandbox != "off" else "",
            program=program,
            named=named,
            kept=(*AUTORUN_FILES, *self._kept_below(spec, cwd)),
            secrets=present_in(home, SECRETS),
            moved=(*_moved(spec), *secrets_of_account(home)),
            of_system=secrets_of_system(),
        )

    def _kept_below(self, spec: UpstreamSpec, cwd: str) -> tuple[str, ...]:
        """Where it sees the workspace, as all do but those with a table who work elsewhere."""
        sees = not isinstance(spec.sandbox, SandboxTable) or is_within(self._workspace, cwd)
        return autorun_files_below(self._workspace) if sees and may_be_opened(self._workspace, self._home) else ()

    def _may_name(self, path: str) -> bool:
        """A variable says where something is, and seldom that it is to be worked on: `XDG_CONFIG_HOME` is one."""
        place = os.path.realpath(path)
        return not is_shared(place, self._home) and not runs_later(place, self._home)

    def _leaves(self, spec: UpstreamSpec) -> bool:
        """Whether its working folder is one that nobody but a file in the workspace, or a link there, says is its."""
        real = os.path.realpath(spec.cwd)
        outside = not is_within(real, self._workspace)
        return leads_out(spec.cwd, real, self._workspace) or (spec.is_local and outside)

    def _own(self, spec: UpstreamSpec) -> Path:
        """One of a workspace may be called like any other, and has nothing to do with it."""
        name = f"{spec.name}@{self._workspace}" if spec.is_local else spec.name
        folder = self._state / "sandbox" / folder_name(name)
        private_dir(folder)
        return folder


@cache
def most_memory() -> int:
    """For one process of a server: half of what this machine has, so that no single one takes it all."""
    if sys.platform != "linux":
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEMORY_SHARE


def _moved(spec: UpstreamSpec) -> Iterator[str]:
    """Where the user keeps secrets if not in the usual places, and has not told this server so."""
    places = (os.environ.get(name, "") for name in MOVED)
    paths = (path for value in places for path in value.split(os.pathsep) if os.path.isabs(path))
    return (os.path.realpath(path) for path in paths if path not in spec.env.values())

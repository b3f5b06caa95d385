"""The cell each server runs in: its setting, and the folders around it, put together when it starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from clawft.sandbox.bounds import Around, Table, bounds_of
from clawft.sandbox.cell import OPENING, Cell
from clawft.sandbox.probe import means
from clawft.sandbox.program import folders_of
from clawft.store.home import private_dir
from clawft.store.names import folder_name
from clawft.upstream.spec import UpstreamSpec


class Cells:
    """`state` is our own folder: no server sees it, but each gets one in it to fill as it likes."""

    def __init__(self, state: Path, workspace: Path) -> None:
        self._state = Path(os.path.realpath(state))
        self._workspace = os.path.realpath(workspace)
        self._home = os.path.realpath(Path.home())

    def cell(self, spec: UpstreamSpec, argv: Sequence[str], cwd: str) -> Cell:
        return Cell(bounds_of(spec.sandbox, self.around(spec, argv, cwd)), means(self._state / "cache"))

    def around(self, spec: UpstreamSpec, argv: Sequence[str], cwd: str) -> Around:
        home = self._home
        program, named = folders_of((*argv, *filter(os.path.isabs, spec.env.values())), home, cwd)
        if isinstance(spec.sandbox, Table) and spec.sandbox.network:
            program += folders_of((sys.executable, OPENING), home, cwd)[0]  # what opens its door runs inside
        return Around(
            home=home,
            state=str(self._state),
            workspace=self._workspace,
            cwd=cwd,
            own=os.path.realpath(self._own(spec)) if spec.sandbox != "off" else "",
            program=program,
            named=named,
        )

    def _own(self, spec: UpstreamSpec) -> Path:
        folder = self._state / "sandbox" / folder_name(spec.name)
        private_dir(folder)
        return folder

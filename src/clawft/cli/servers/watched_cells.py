"""Sandboxed runs under strace, and reading what strace recorded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

import msgspec

from clawft.cli.parser import WrongUsage
from clawft.sandbox.bounds import FoldersAround, PathRule, expand, with_rules
from clawft.sandbox.cell import Cell, CellStart
from clawft.sandbox.observed_run import OPTIONS, ObservedRun, read_notes, together
from clawft.sandbox.pinned_file import PinnedFile
from clawft.sandbox.proposal import Proposal, propose
from clawft.upstream.cells import Cells
from clawft.upstream.spec import UpstreamSpec

MAX_NOTES_BYTES = 256 * 1024 * 1024
"""The most that is read of the notes; a run that fills more repeats itself."""


class WatchedCell(Cell, frozen=True, kw_only=True):
    """A cell with strace around it, which writes down what happens inside."""

    strace: str
    notes: str

    def start(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        own_pipes: bool = False,
        pinned: Sequence[PinnedFile] = (),
    ) -> CellStart:
        """Start the command in the cell. Its pipes are not its own: strace has them as well."""
        how = Cell.start(self, argv, cwd, env, pinned=pinned)
        watching = (*self.means.leash, self.strace, *OPTIONS, "-o", self.notes)
        return msgspec.structs.replace(how, argv=(*watching, *how.argv))


class WatchingCells(Cells):
    """Remembers around what the server was started. `open_to_it`: what it may write beside what is open to all."""

    def __init__(self, state: Path, workspace: Path, notes: Path, open_to_it: Sequence[str] = ()) -> None:
        super().__init__(state, workspace)
        self._strace = find_strace()
        self._notes = notes
        self._open_to_it = open_to_it
        self._starts = 0
        self.found: tuple[str, str, FoldersAround] | None = None

    def cell(self, spec: UpstreamSpec, argv: Sequence[str], cwd: str) -> Cell:
        around = self.around(spec, argv, cwd)
        self.found = (argv[0], cwd, around)
        self._starts += 1
        plain = super().cell(spec, argv, cwd)
        more = [PathRule(expand(path, around.home, around.workspace), "write") for path in self._open_to_it]
        bounds = with_rules(plain.bounds, more) if plain.bounds is not None else None
        notes = str(self._notes / str(self._starts))
        return WatchedCell(bounds, plain.means, plain.memory, strace=self._strace, notes=notes)

    def learned(self) -> Proposal:
        """The proposal from the notes of all its starts. Reads long files."""
        if self.found is None:
            raise WrongUsage("it was never started", hint="only a server that is a program can be watched")
        command, cwd, around = self.found
        seen = together(self._read(file, command, cwd) for file in self._notes.iterdir())
        return propose(as_spelled_here(seen, (around.home, around.workspace, around.own)), around, os.path.realpath)

    def _read(self, file: Path, command: str, cwd: str) -> ObservedRun:
        with open(file, encoding="ascii", errors="replace") as notes:
            return read_notes(_bounded(notes), command, cwd)


def as_spelled_here(seen: ObservedRun, folders: Collection[str]) -> ObservedRun:
    """The observed paths, spelled as these folders are: a home that is a link has two names."""

    @cache
    def real(path: str) -> str:
        return os.path.realpath(path)

    def spelled(path: str) -> str:
        for folder in (path, *map(str, PurePosixPath(path).parents)):
            if real(folder) in folders:
                return real(folder) + path[len(folder) :]
        return path

    paths = {name: set(map(spelled, getattr(seen, name))) for name in ("read", "wrote", "missed", "made")}
    return msgspec.structs.replace(seen, **paths)


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    left = MAX_NOTES_BYTES
    for line in lines:
        left -= len(line)
        if left < 0:
            return
        yield line.rstrip("\n")


def find_strace() -> str:
    found = shutil.which("strace")
    if found is None:
        raise WrongUsage("watching a server needs strace, which is not installed", hint="apt-get install strace")
    return found

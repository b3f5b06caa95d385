"""`weft servers test NAME --learn`: one run in its sandbox, watched; then the table that would allow just that."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from clawft.cli.parser import WrongUsage
from clawft.cli.screen import tell
from clawft.cli.server_files import keep
from clawft.config.places import servers_folder
from clawft.sandbox.bounds import FoldersAround, PathRule, SandboxTable, expand, with_rules
from clawft.sandbox.cell import Cell, CellStart
from clawft.sandbox.observed_run import OPTIONS, ObservedRun, read_notes, together
from clawft.sandbox.proposal import Proposal, propose
from clawft.store.home import write_private
from clawft.upstream.cells import Cells

if TYPE_CHECKING:
    from clawft.config.layers import FoundServer
    from clawft.upstream.spec import UpstreamSpec

MAX_NOTES_BYTES = 256 * 1024 * 1024
"""What is read of the notes; a run that fills more says the same over and over."""


PRIVATE = 0o700


class WatchedCell(Cell, frozen=True, kw_only=True):
    """A cell with strace around it, which writes down what happens inside."""

    strace: str
    notes: str

    def start(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], *, own_pipes: bool = False) -> CellStart:
        """Its pipes are not its own: strace has them as well."""
        how = Cell.start(self, argv, cwd, env)
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
        """What the notes of all its starts say. Reads long files."""
        if self.found is None:
            raise WrongUsage("it was never started", hint="only a server that is a program can be watched")
        command, cwd, around = self.found
        return propose(together(self._read(file, command, cwd) for file in self._notes.iterdir()), around)

    def _read(self, file: Path, command: str, cwd: str) -> ObservedRun:
        with open(file, encoding="ascii", errors="replace") as notes:
            return read_notes(_bounded(notes), command, cwd)


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    left = MAX_NOTES_BYTES
    for line in lines:
        left -= len(line)
        if left < 0:
            return
        yield line.rstrip("\n")


def make_folders(proposal: Proposal) -> None:
    """What is not there cannot be opened to anybody. One that cannot be made stays away, and the server says so."""
    for folder in proposal.folders:
        with suppress(OSError):
            os.makedirs(folder, mode=PRIVATE, exist_ok=True)


def find_strace() -> str:
    found = shutil.which("strace")
    if found is None:
        raise WrongUsage("watching a server needs strace, which is not installed", hint="apt-get install strace")
    return found


def as_toml(table: SandboxTable) -> str:
    """Ready to be pasted into the server's own file."""
    from clawft.config.server_text import toml_value  # only where something is shown

    return f"sandbox = {toml_value(as_table(table))}"


def as_table(table: SandboxTable) -> dict[str, list[str]]:
    return {"read": list(table.read), "write": list(table.write), "network": list(table.network)}


def store(found: FoundServer, home: Path, table: SandboxTable) -> Path:
    """Into the user's own file of this server, with a copy of the old beside it."""
    from clawft.config.layers import TABLE, Scope  # only where something is written
    from clawft.config.server_text import with_value

    if found.scope in (Scope.WORKSPACE, Scope.COMMAND_LINE):
        raise WrongUsage(
            f"{found.spec.name} comes from {found.origin}, which we do not write to",
            hint="paste the line above where the server is named",
        )
    path = Path(found.origin.file)
    text = path.read_bytes().decode()
    place = () if path.parent == servers_folder(home) else (TABLE, found.spec.name)
    changed = with_value(text, str(path), place, "sandbox", as_table(table))
    keep(path)
    write_private(path.resolve(), changed.encode())
    return path


def show(name: str, proposal: Proposal, starts: str) -> None:
    """The table alone on stdout; everything said about it on stderr."""
    print(as_toml(proposal.table))
    for note in proposal.notes:
        tell(f"note: {note}")
    tell(f"{name} {starts}; what was not used in this run is not in the table: --call TOOL uses more of it")

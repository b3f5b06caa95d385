"""The sandbox of a language server and all it starts.

| folder | server | reads | writes | network |
|---|---|---|---|---|
| not trusted | any that may start there | the system, the workspace, what it is made of | a `/tmp` of its own | none |
| trusted | runs no code of the project | all but secrets | the same | none |
| trusted | runs code of the project | all but secrets | the workspace, caches too | where packages are kept |

What a folder names as libraries can be asked for, so in one that nobody trusted a server sees no home.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from clawft.builtin.cells import CACHES, OURS, around, this_machine
from clawft.builtin.ide.lsp.server_table import ServerSpec
from clawft.provider.manifest import expand, places
from clawft.sandbox.bounds import FoldersAround, PathRule, bounds_of, may_be_opened, with_rules
from clawft.sandbox.cell import Cell
from clawft.sandbox.program import folders_of


def lsp_cell(spec: ServerSpec, setting: str, workspace: Path, argv: Sequence[str], *, trusted: bool) -> Cell:
    """Looks at files, so run it in a thread. `setting` is `auto`, `off`, `strict` or `require`."""
    builds = trusted and spec.runs_project_code
    known = around(workspace, argv, str(workspace), CACHES if builds else (), kept=OURS)
    known = msgspec.structs.replace(known, program=(*known.program, *_asked(spec, known), *_lies_in(spec, workspace)))
    closed = setting == "strict" or not trusted
    bounds = bounds_of("strict" if closed and setting != "off" else setting, known)
    if bounds is None:
        return Cell(None, this_machine())
    means = this_machine()
    listed = builds and not closed and means.level == "bwrap"  # else the list of hosts could not be enforced
    bounds = msgspec.structs.replace(bounds, network=spec.hosts if listed else (), required=setting == "require")
    return Cell(with_rules(bounds, _rules(spec, known, workspace, builds=builds)), means)


def _rules(spec: ServerSpec, known: FoldersAround, workspace: Path, *, builds: bool) -> Iterable[PathRule]:
    writable = builds and may_be_opened(known.workspace, known.home)
    yield PathRule(known.workspace, "write" if writable else "read")
    if builds and spec.starts_cargo:
        from clawft.builtin.cargo.cell import own_folder  # only for Rust

        yield from own_folder(workspace)


def _asked(spec: ServerSpec, known: FoldersAround) -> Iterable[str]:
    """The folders of programs that the server asks about the language."""
    found = filter(None, map(shutil.which, spec.asks))
    return [folder for program in found for folder in folders_of([os.path.abspath(program)], known.home, "/")[0]]


def _lies_in(spec: ServerSpec, workspace: Path) -> Iterable[str]:
    """Folders with parts that a server fetches when the user first runs it."""
    return [os.path.realpath(expand(entry, places(workspace))) for entry in spec.kept_in]

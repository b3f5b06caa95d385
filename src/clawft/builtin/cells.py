"""The cell a built-in family's commands run in: what its manifest grants, held by what this machine has."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from clawft.provider.manifest import Manifest, expand, places
from clawft.sandbox.bounds import Around, bounds_of
from clawft.sandbox.cell import Cell
from clawft.sandbox.probe import means
from clawft.sandbox.program import folders_of
from clawft.store.home import home

CACHES = tuple(
    f"~/{name}"
    for name in ".cache .npm .cargo/registry .cargo/git .gradle .m2 go/pkg .local/share/uv .local/share/pnpm".split()
)
"""Where the user's own programs keep what they have fetched: without these hardly anything builds."""

OURS = (".clawft", ".mcp.json")
"""Of the workspace for reading only. Git's own files are not: `git` is among these commands, and writes them."""


def cell_for(manifest: Manifest, setting: str, workspace: Path, argv: Sequence[str], cwd: str) -> Cell:
    """Looks at files: for a thread. `setting` is `auto`, `off`, `strict` or `require`, as for a server."""
    known = places(workspace)
    user, place = os.path.realpath(known["~"]), str(workspace.resolve())
    program, _ = folders_of([os.path.join(cwd, argv[0])], user, cwd)  # one that is relative runs from there
    granted = [str(expand(entry, known)) for entry in (*manifest.permissions.filesystem, *CACHES)]
    around = Around(
        home=user,
        state=os.path.realpath(home()),
        workspace=place,
        cwd=place,
        own="",
        program=program,
        kept=OURS,
        named=tuple(os.path.realpath(path) for path in granted if os.path.isdir(path)),
    )
    bounds = bounds_of(setting, around)
    if bounds is not None and setting != "strict":
        bounds = msgspec.structs.replace(bounds, network=manifest.permissions.network)
    return Cell(bounds, means(home() / "cache"))

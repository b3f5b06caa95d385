"""How the file of a server is written and kept.

Changes are made to the files of the user, and to nothing else.
"""

from __future__ import annotations

from pathlib import Path

from clawft.cli.parser import WrongUsage
from clawft.config.places import servers_folder
from clawft.config.server_text import to_toml
from clawft.store.private_files import private_dir, write_private
from clawft.upstream.spec import UpstreamSpec

BACKUP = ".bak"


def write(home: Path, spec: UpstreamSpec, *, force: bool = False) -> Path:
    """The file of one server. Never over an existing one unless told so, and then with a copy of the old."""
    path = servers_folder(home) / f"{spec.name}.toml"
    if path.exists() and not force:
        raise WrongUsage(f"{path} already exists", hint="--force replaces it and keeps a .bak")
    private_dir(path.parent)
    if path.exists():
        keep(path)
    write_private(path, to_toml(spec).encode())
    return path


def keep(path: Path) -> Path:
    """A copy of it beside it, in place of the one before."""
    backup = path.with_name(path.name + BACKUP)
    write_private(backup, path.read_bytes())
    return backup

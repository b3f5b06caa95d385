"""`weft servers remove`: its file goes, and a copy is kept."""

from __future__ import annotations

from pathlib import Path

from clawft.cli.parser import Options, WrongUsage
from clawft.cli.servers.files import keep
from clawft.cli.servers.found import found_of
from clawft.config.layers import FoundServer, Scope
from clawft.config.places import home_folder, servers_folder


def run(options: Options) -> int:
    """Also a file that cannot be read is removed: that may be why."""
    path = servers_folder(home_folder()) / f"{Path(options.name).name}.toml"
    if not path.exists() or Path(options.name).name != options.name:
        found = found_of(options)
        raise WrongUsage(f"{options.name} is defined in {found.origin}", hint=f"remove it there{_or_disable(found)}")
    backup = keep(path)
    path.unlink()
    print(f"removed: {path} (kept as {backup.name})")
    return 0


def _or_disable(found: FoundServer) -> str:
    return "" if found.scope is Scope.COMMAND_LINE else f", or weft servers disable {found.spec.name}"

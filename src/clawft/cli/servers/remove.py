"""`weft servers remove`: its file goes, and a copy is kept."""

from __future__ import annotations

from pathlib import Path

from clawft.cli.parser import Options, WrongUsage
from clawft.cli.screen import tell
from clawft.cli.servers.files import keep
from clawft.cli.servers.found import found_of
from clawft.cli.setup.sources import discovered
from clawft.config.layers import FoundServer, Scope
from clawft.config.load import SourceLine
from clawft.config.places import home_folder, servers_folder
from clawft.config.servers import Servers
from clawft.errors import ClawftError


def run(options: Options) -> int:
    path = _file_of(options, _known(options))
    backup = keep(path)
    path.unlink()
    print(f"removed: {path} (kept as {backup.name})")
    if left := _origin(options.name, _known(options)):
        tell(f"{options.name} is still there: {left} describes it, too")
    return 0


def _known(options: Options) -> Servers:
    """The servers there are; none where the settings are wrong, which does not keep a file from being removed."""
    try:
        return discovered(options)
    except ClawftError:
        return Servers()


def _origin(name: str, known: Servers) -> SourceLine | None:
    """Where the server is described that counts under this name."""
    if name in known.refused:
        return SourceLine(known.refused[name].file)
    found = known.found.get(name) or known.waiting.get(name)
    return found.origin if found is not None else None


def _file_of(options: Options, known: Servers) -> Path:
    """The file of the user that describes this server, whatever the file is called.

    Also one that cannot be read is removed: that may be why.
    """
    folder, name = servers_folder(home_folder()), options.name
    used = _origin(name, known)
    if used is not None and Path(used.file).parent == folder:
        return Path(used.file)
    path = folder / f"{Path(name).name}.toml"
    if path.exists() and Path(name).name == name and not _is_used(path, known):
        return path
    found = found_of(options)
    raise WrongUsage(f"{name} is defined in {found.origin}", hint=f"remove it there{_or_disable(found)}")


def _is_used(path: Path, known: Servers) -> bool:
    """Whether a server is described in this file, which then has another name."""
    return any(found.origin.file == str(path) for found in known.found.values())


def _or_disable(found: FoundServer) -> str:
    return "" if found.scope is Scope.COMMAND_LINE else f", or weft servers disable {found.spec.name}"

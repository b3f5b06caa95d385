"""`weft servers remove | enable | disable | reconnect`, and how a file of a server is written and kept.

Changes are made to the files of the user, and to nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clawft.cli.options import common_options, discovered
from clawft.cli.parser import Options, Parser, Verb, WrongUsage
from clawft.cli.served import served
from clawft.cli.server_names import no_server
from clawft.config.places import agent_file, ask_to_reconnect, home_folder, servers_folder
from clawft.errors import quoted

if TYPE_CHECKING:  # help needs none of it
    from clawft.config.layers import FoundServer
    from clawft.upstream.spec import UpstreamSpec

BACKUP = ".bak"


# ── one file ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def write(home: Path, spec: UpstreamSpec, *, force: bool = False) -> Path:
    """The file of one server. Never over an existing one unless told so, and then with a copy of the old."""
    from clawft.config.server_text import to_toml  # only where something is written
    from clawft.store.home import private_dir, write_private

    path = servers_folder(home) / f"{spec.name}.toml"
    if path.exists() and not force:
        raise WrongUsage(f"{path} is there already", hint="--force replaces it and keeps a .bak")
    private_dir(path.parent)
    if path.exists():
        keep(path)
    write_private(path, to_toml(spec).encode())
    return path


def keep(path: Path) -> Path:
    """A copy of it beside it, in place of the one before."""
    from clawft.store.home import write_private  # only where something is written

    backup = path.with_name(path.name + BACKUP)
    write_private(backup, path.read_bytes())
    return backup


# ── remove, enable, disable ──────────────────────────────────────────────────────────────────────────────────────────


def _name_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a configured server")
    common_options(parser)


def _found(options: Options) -> FoundServer:
    servers = discovered(options)
    found = servers.found.get(options.name) or servers.waiting.get(options.name)
    if found is not None:
        return found
    if options.name in servers.refused:
        raise servers.refused[options.name].error
    if rows := served(options.name):
        where = f"a weft that runs has {options.name} from {rows[0].origin}"
        raise WrongUsage(f"no file here names {options.name}; {where}", hint="change it there")
    raise no_server(options.name, [*servers.found, *servers.waiting])


def _remove(options: Options) -> int:
    """Also a file that cannot be read is removed: that may be why."""
    path = servers_folder(home_folder()) / f"{Path(options.name).name}.toml"
    if not path.exists() or Path(options.name).name != options.name:
        found = _found(options)
        raise WrongUsage(f"{options.name} is defined in {found.origin}", hint=f"remove it there{_or_disable(found)}")
    backup = keep(path)
    path.unlink()
    print(f"removed: {path} (kept as {backup.name})")
    return 0


def _or_disable(found: FoundServer) -> str:
    from clawft.config.layers import Scope  # loaded by now

    return "" if found.scope is Scope.COMMAND_LINE else f", or weft servers disable {found.spec.name}"


def _enable(options: Options) -> int:
    return _switch(options, enabled=True)


def _disable(options: Options) -> int:
    return _switch(options, enabled=False)


def _switch(options: Options, *, enabled: bool) -> int:
    from clawft.config.layers import Scope  # loaded by now

    found = _found(options)
    if found.spec.enabled is enabled and found.scope is not Scope.WORKSPACE:
        print(f"{options.name} is {'enabled' if enabled else 'disabled'} already: {found.origin}")
        return 0
    if found.scope is Scope.COMMAND_LINE:
        raise WrongUsage(f"{options.name} comes from the command line", hint="leave it out there")
    if found.scope is Scope.WORKSPACE and enabled:
        raise WrongUsage(
            f"{options.name} comes from {found.origin}, which is not yours alone",
            hint=f"--mcp-config {quoted(found.origin.file)} starts it; weft servers import --from workspace keeps it",
        )
    path = _change(found, options, enabled=enabled)
    print(f"{'enabled' if enabled else 'disabled'}: {options.name} in {path}; a running weft follows within a second")
    return 0


def _change(found: FoundServer, options: Options, *, enabled: bool) -> Path:
    """In the file that has the last word, or, against a workspace, in the agent's own."""
    from clawft.config.layers import TABLE, Scope  # loaded by now
    from clawft.config.server_text import with_table, with_value, without_table
    from clawft.store.home import private_dir, write_private

    home = home_folder()
    table = (TABLE, options.name)
    if found.scope is Scope.WORKSPACE:
        path = agent_file(home, options.agent)
        text = path.read_bytes().decode() if path.exists() else ""
        changed = with_table(text, str(path), table, {"enabled": False})
    else:
        path = Path(found.origin.file)
        text = path.read_bytes().decode()
        place = () if path.parent == servers_folder(home) else table
        if enabled and _only_switches_off(text, path, place):
            changed = without_table(text, str(path), place)
        else:
            changed = with_value(text, str(path), place, "enabled", enabled)
    private_dir(path.parent)
    write_private(path.resolve(), changed.encode())  # a link stays one: what it leads to is the file
    return path


def _only_switches_off(text: str, path: Path, place: tuple[str, ...]) -> bool:
    """An entry with nothing but `enabled = false`: without it the earlier layer counts again."""
    from clawft.store.document import parse  # loaded by now

    table = parse(text.encode(), str(path)).tables
    for part in place:
        table = table[part]
    return bool(place) and set(table) <= {"enabled", "name"}


# ── reconnect ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _reconnect(options: Options) -> int:
    """A file whose time stamp every running weft of this home looks at. They may have servers that no file names."""
    name = options.name
    if not served(name):
        _found(options)
    ask_to_reconnect(home_folder(), name)
    print(f"asked: every running weft connects {name} anew within a second")
    return 0


REMOVE = Verb("Remove a server of yours; a .bak is kept", _name_options, _remove)
ENABLE = Verb("Switch a server on", _name_options, _enable)
DISABLE = Verb("Switch a server off", _name_options, _disable)
RECONNECT = Verb("Have every running weft connect a server anew", _name_options, _reconnect)

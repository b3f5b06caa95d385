"""A server is switched on or off, in the file that has the last word."""

from __future__ import annotations

from pathlib import Path

from clawft.cli.parser import Options, WrongUsage
from clawft.cli.servers.found import found_of
from clawft.config.layers import TABLE, FoundServer, Scope
from clawft.config.places import agent_file, home_folder, servers_folder
from clawft.config.server_text import with_table, with_value, without_table
from clawft.error_words import quoted
from clawft.store.document import parse
from clawft.store.private_files import private_dir, write_private


def switch(options: Options, *, enabled: bool) -> int:
    found = found_of(options)
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
    table = parse(text.encode(), str(path)).tables
    for part in place:
        table = table[part]
    return bool(place) and set(table) <= {"enabled", "name"}

"""One tool by any of its names; where there is none, why not, and what to do about it."""

from __future__ import annotations

from clawft.app import App
from clawft.catalog.snapshot import CatalogEntry
from clawft.config.follow import RUNNING
from clawft.errors import ToolNotFound, nearest


def find(app: App, name: str) -> CatalogEntry:
    """The tool, if this caller may see it. Raises ToolNotFound, which names the nearest one."""
    entry = app.gateway.tools.find_visible(name, app.caller)
    if entry is None:
        raise not_found(app, name)
    return entry


def not_found(app: App, name: str) -> ToolNotFound:
    absent = why_absent(app, name)
    if absent is not None:
        return ToolNotFound(f"{name}: {absent[0]}", hint=absent[1])
    near = nearest(name, [spelling for entry in app.gateway.tools.visible(app.caller) for spelling in entry.names])
    return ToolNotFound(f"unknown tool: {name}", hint=f"did you mean {near}?" if near else "weft tools list")


def why_absent(app: App, name: str) -> tuple[str, str] | None:
    """Why the server that this name speaks of has no tools now, and what to do about it."""
    if not app.files.name_any:
        return None
    from clawft.cli.house.start_servers import servers_of  # loaded with the servers
    from clawft.config.servers import waits

    known = app.servers
    down = {each.name for each in app.pool.status() if each.status not in RUNNING and not each.rests}
    for server in servers_of(name, (*known.found, *known.waiting, *known.refused)):
        if server in known.waiting:
            told = waits(server, known.waiting[server])
            return told.message, told.hint
        if server in known.refused:
            return known.refused[server].error.message, known.refused[server].error.hint
        if not known.found[server].spec.enabled:
            return f"{server} is switched off", f"weft servers enable {server}"
        if server in down:
            return f"{server} is not connected", f"weft servers test {server}"
    return None

"""Why a server has no tools now."""

from __future__ import annotations

from clawft.app import App
from clawft.cli.setup.start_servers import servers_of
from clawft.config.follow import RUNNING
from clawft.config.servers import waits


def reason_of(app: App, name: str) -> tuple[str, str] | None:
    """Why the server that this name belongs to has no tools, and what to do about it."""
    known = app.servers
    down = {each.name for each in app.pool.status() if each.status not in RUNNING and not each.rests}
    for server in servers_of(name, (*known.found, *known.waiting, *known.refused)):
        if server in known.waiting:
            waiting = waits(server, known.waiting[server])
            return waiting.message, waiting.hint
        if server in known.refused:
            return known.refused[server].error.message, known.refused[server].error.hint
        if not known.found[server].spec.enabled:
            return f"{server} is switched off", f"weft servers enable {server}"
        if server in down:
            return f"{server} is not connected", f"weft servers test {server}"
    return None

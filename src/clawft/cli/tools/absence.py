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
            return _waiting(app, server)
        if server in known.refused:
            return known.refused[server].error.message, known.refused[server].error.hint
        if not known.found[server].spec.enabled:
            return f"{server} is disabled", f"weft servers enable {server}"
        if server in down:
            return f"{server} is not connected", f"weft servers test {server}"
    return None


def _waiting(app: App, server: str) -> tuple[str, str]:
    found = app.servers.waiting[server]
    waiting = waits(server, found)
    if not app.files.has_changed(found):
        return waiting.message, waiting.hint
    why = f"{found.origin}: {server} is not what you approved, and waits for approval again"
    return why, f"weft approvals diff {server} shows what has changed, {waiting.hint} approves it"

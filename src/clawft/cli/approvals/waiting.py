"""Servers that wait for an approval, and why a server cannot be approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clawft.cli.approvals.book import book
from clawft.cli.parser import Options
from clawft.cli.servers.names import no_server
from clawft.cli.setup.sources import sources
from clawft.config.layers import FoundServer
from clawft.config.servers import discover, launch_line
from clawft.errors import ClawftError


def waiting_servers(options: Options) -> dict[str, FoundServer]:
    return dict(discover(sources(options)).waiting)


def unknown(server: str, options: Options) -> ClawftError | None:
    """Why nothing can be approved of it: nobody names it, or whoever does made a mistake. None if that is not so."""
    known = discover(sources(options))
    if server in known.refused:
        return known.refused[server].error
    named = [*known.found, *known.waiting]
    return None if server in named else no_server(server, named)


def waits(name: str, found: FoundServer, options: Options) -> dict[str, Any]:
    from clawft.config.launch_approval import grant_command, has_changed  # only where something waits

    return {
        "server": name,
        "starts": launch_line(found.spec),
        "changed": has_changed(book(), found, sources(options)),
        "origin": str(found.origin),
        "command": grant_command(name, found, Path.cwd()),
    }

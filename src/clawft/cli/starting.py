"""Servers for a command that ends: start them all, wait until each was tried, say which are missing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from clawft.cli.reply import Waiting
from clawft.cli.screen import one_line, tell

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.upstream.pool import ServerStatus

SETTLE_SECONDS = 30.0
"""How long a command waits for servers that are slow to start; it goes on with the others."""

RUNNING = ("connected", "degraded")


async def start_servers(app: App) -> None:
    """A server that is down is a line on stderr, and no reason to fail, unless the user said so."""
    logging.getLogger("clawft.upstream").setLevel(logging.CRITICAL)  # one line per server is told below
    count = len(app.servers.wanted)
    await Waiting(f"starting {count} server{'s' if count != 1 else ''}").during(_start(app))
    for each in app.pool.status():
        if each.status not in RUNNING:
            tell(f"weft: server {each.name}: {one_line(why_down(each))}")


async def _start(app: App) -> None:
    await app.start_servers()
    await app.pool.settled(SETTLE_SECONDS)


def why_down(status: ServerStatus) -> str:
    return status.error or f"not ready after {SETTLE_SECONDS:g} s"

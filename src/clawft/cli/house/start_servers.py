"""Servers for a command that ends: start them all, wait until each was tried, say which are missing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from clawft.cli.screen import counted, one_line, tell
from clawft.cli.screen.reply import WaitingTalk
from clawft.cli.screen.table import cut
from clawft.config.follow import RUNNING

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.config.servers import Servers
    from clawft.upstream.status import ServerStatus

SETTLE_SECONDS = 30.0
"""How long a command waits for servers that are slow to start; it goes on with the others."""


SHOWN_CELLS = 300
"""Of the reason why a server is down; `weft servers test` shows all of it."""


async def start_servers(app: App, tool: str = "", only: Collection[str] = ()) -> None:
    """A server that is down is a line on stderr, and no reason to fail, unless the user said so.

    Whoever wants one tool waits for its server alone, as far as the name tells.
    """
    logging.getLogger("clawft.upstream").setLevel(logging.CRITICAL)  # one line per server is told below
    only = only or servers_of(tool, app.servers.wanted)
    if not only and servers_of(tool, _unwanted(app.servers)):
        return  # it is switched off, or waits: no other can have its tools
    how_many = counted(len(only or app.servers.wanted), "server")
    await WaitingTalk(f"starting {how_many}").during(_start(app, only))
    for each in app.pool.status():
        if each.status not in RUNNING and not each.rests:
            tell(f"weft: server {each.name}: {cut(one_line(why_down(each)), SHOWN_CELLS)}")


def _unwanted(known: Servers) -> list[str]:
    return [name for name in (*known.found, *known.waiting, *known.refused) if name not in known.wanted]


async def _start(app: App, only: Collection[str]) -> None:
    await app.start_servers(only)
    await app.pool.settled(SETTLE_SECONDS)


def servers_of(tool: str, known: Iterable[str]) -> list[str]:
    """Those the name of a tool may belong to; none if it does not say."""
    bare = tool.removeprefix("mcp__").removeprefix("mcp:")
    return [name for name in known if bare.startswith((f"{name}__", f"{name}:"))]


def why_down(status: ServerStatus) -> str:
    return status.error or f"not ready after {SETTLE_SECONDS:g} s"

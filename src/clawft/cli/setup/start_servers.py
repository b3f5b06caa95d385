"""Servers for a command that ends: start them all, wait until each was tried, say which are missing."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
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
QUIET_SECONDS = 4.0
"""How long a list of what all have waits for the next one of them: a server that says nothing must not keep those of
the others from a person.
"""

SHOWN_CELLS = 300
"""Columns of the reason why a server is down; `weft servers test` shows all of it."""


async def start_servers(app: App, tool: str = "", only: Collection[str] = (), *, look: bool = False) -> None:
    """Start the servers and wait for them. One that is down is a line on stderr; it fails only if the user said so.

    With `tool` only its server is waited for, as far as the name tells which; with `look` the wait is short.
    """
    logging.getLogger("clawft.upstream").setLevel(logging.CRITICAL)  # one line per server is told below
    only = only or servers_of(tool, app.servers.wanted)
    if not only and servers_of(tool, _unwanted(app.servers)):
        return  # it is switched off, or waits: no other can have its tools
    quiet = QUIET_SECONDS if look and not only else SETTLE_SECONDS
    how_many = counted(len(only or app.servers.wanted), "server")
    began = time.monotonic()
    await WaitingTalk(f"starting {how_many}").during(_start(app, only, quiet))
    if not only:
        _tell_unused(app.servers)
    for each in app.pool.status():
        if each.status not in RUNNING and not each.rests:
            why = _why_down(each, time.monotonic() - began)
            tell(f"weft: server {each.name}: {cut(one_line(why), SHOWN_CELLS)}")


def _unwanted(known: Servers) -> list[str]:
    return [name for name in (*known.found, *known.waiting, *known.refused) if name not in known.wanted]


async def _start(app: App, only: Collection[str], quiet: float) -> None:
    await app.start_servers(only, quiet=True)
    await app.pool.settled(SETTLE_SECONDS, quiet)


def _tell_unused(known: Servers) -> None:
    """Name those that are not used in a line each time, as they change seldom; elsewhere it is said why."""
    from clawft.config.servers import is_there_already, named_twice  # loaded with the servers

    refused = [name for name, each in known.refused.items() if not each.own]
    waiting = [name for name, each in known.waiting.items() if not is_there_already(each, known)]
    if refused:
        _tell_names(refused, ("is refused", "are refused"), "weft servers list says why")
    if waiting:
        _tell_names(waiting, ("waits for approval", "wait for approval"), _to_approve(waiting, known))
    for twice in filter(None, map(named_twice, known.found.values())):
        tell(f"weft: {cut(one_line(str(twice)), SHOWN_CELLS)}")


def _to_approve(waiting: Sequence[str], known: Servers) -> str:
    if len(waiting) > 1:
        return "weft approvals list"
    from clawft.config.launch_approval import grant_command  # few wait

    return grant_command(waiting[0], known.waiting[waiting[0]], Path.cwd())


def _tell_names(names: Sequence[str], are: tuple[str, str], step: str) -> None:
    shown = cut(one_line(", ".join(names)), SHOWN_CELLS)
    tell(f"weft: {counted(len(names), 'server')} {are[len(names) > 1]}: {shown} ({step})")


def servers_of(tool: str, known: Iterable[str]) -> list[str]:
    """The servers that the name of a tool may belong to; none if the name does not say."""
    bare = tool.removeprefix("mcp__").removeprefix("mcp:")
    return [name for name in known if bare.startswith((f"{name}__", f"{name}:"))]


def _why_down(status: ServerStatus, waited: float) -> str:
    """One that is slow may come yet, if somebody waits for it alone."""
    from clawft.upstream.reasons import not_ready  # loaded with the servers

    typed = f"weft servers test {status.name}{' --mcp-config …' if status.scope == 'command line' else ''}"
    return status.error or f"{not_ready(waited, status.step)} ({typed})"

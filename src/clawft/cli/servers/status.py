"""`weft servers status`: how the servers of the running weft are, or of one that is started for a look."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clawft.app import App
from clawft.app.server_rows import ServerRow, server_rows
from clawft.cli.parser import Options
from clawft.cli.screen import is_terminal, paint, tell, width
from clawft.cli.screen.document import print_json
from clawft.cli.screen.reply import WaitingTalk
from clawft.cli.servers.names import no_server
from clawft.cli.servers.status_table import print_one, print_rows, print_table_of
from clawft.cli.setup import settings, with_app
from clawft.cli.setup.served import wefts_here
from clawft.cli.setup.start_servers import QUIET_SECONDS, SETTLE_SECONDS
from clawft.errors import NotConnected

if TYPE_CHECKING:  # often none runs
    from clawft.app.status_socket import RunningWeft

REDRAW_SECONDS = 1.0
CLEAR = "\x1b[H\x1b[J"


def run(options: Options) -> int:
    """A running weft does not say what each server does, so `--mcp-debug` takes a fresh look."""
    code = None if options.fresh or options.mcp_debug else _show_running(options)
    return with_app(options, lambda app: _show_started(app, options), servers=False) if code is None else code


# ── of those that run ────────────────────────────────────────────────────────────────────────────────────────────────


def _show_running(options: Options) -> int | None:
    """None if no weft serves here."""
    wefts = _running_here(options)
    if not wefts:
        return None
    code = _print_running(wefts, options)
    while options.watch and is_terminal(sys.stdout):
        time.sleep(REDRAW_SECONDS)
        wefts = _running_here(options)
        if not wefts:
            tell("no weft is running here any more")
            break
        sys.stdout.write(CLEAR)
        code = _print_running(wefts, options)
    return code


def _running_here(options: Options) -> Sequence[RunningWeft]:
    """Raises NotConnected if some serve here, and none of them answers: servers of our own would be further copies."""
    found = wefts_here(settings(options))
    if found is None:
        return ()
    if found.silent and not found.answering:
        raise _no_answer(found.silent)
    for pid in found.silent:
        tell(f"another weft serves here, process {pid}, and does not answer")
    return found.answering


def _no_answer(silent: Sequence[int]) -> NotConnected:
    processes = " ".join(map(str, silent))
    return NotConnected(
        f"the weft that runs here does not respond: process {processes}",
        hint=f"kill -CONT {processes} resumes it if it was suspended; --fresh starts the servers to check them",
    )


def _print_running(wefts: Sequence[RunningWeft], options: Options) -> int:
    rows = [row for weft in wefts for row in weft.servers]
    if options.name:
        named = [row for row in rows if row.name == options.name]
        if not named:
            raise no_server(options.name, {row.name for row in rows})
        if options.json and len(named) > 1:  # several wefts have it, and this is one document
            print_json({"servers": named})
            return 0
        return max(print_one(row, options) for row in named)
    if options.json or not rows or not width():
        return print_rows(rows, options)
    for weft in wefts:
        print(paint(_heading(weft), "dim"))
        print_table_of(weft.servers)
    return 0


def _heading(weft: RunningWeft) -> str:
    minutes = max(0, int((time.time() - weft.started) // 60))
    return f"weft {weft.front}, process {weft.pid}, for {minutes} min:"


# ── of one that is started for a look ────────────────────────────────────────────────────────────────────────────────


async def _show_started(app: App, options: Options) -> int:
    logging.getLogger("clawft").setLevel(logging.CRITICAL)  # what would be warned of stands in the table
    if options.name and options.name not in _names(app):
        raise no_server(options.name, _names(app))
    if app.files.name_any:
        await WaitingTalk("starting servers").during(_start(app, options.name))
    if not (options.watch and is_terminal(sys.stdout)):
        code = print_rows(await _rows(app), options)
        sys.stdout.flush()  # some servers take seconds to end
        return code
    app.files.follow()
    while True:
        sys.stdout.write(CLEAR)
        print_rows(await _rows(app), options)
        await asyncio.sleep(REDRAW_SECONDS)


def _names(app: App) -> set[str]:
    servers = app.servers if app.files.name_any else None
    return {*servers.found, *servers.waiting, *servers.refused} if servers is not None else set()


async def _start(app: App, name: str | None) -> None:
    if name and name not in app.servers.wanted:
        return  # switched off, or it waits: nothing has to run to say so
    await app.start_servers([name] if name else ())
    await app.pool.settled(SETTLE_SECONDS, SETTLE_SECONDS if name else QUIET_SECONDS)


async def _rows(app: App) -> list[ServerRow]:
    return await server_rows(app, Path.cwd())

"""`weft servers status`: how the servers of the running weft are, or of one that is started for a look."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clawft.cli.options import common_options, settings, with_app
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.reply import WaitingTalk
from clawft.cli.screen import (
    is_terminal,
    one_line,
    paint,
    print_fields,
    print_json,
    print_step,
    print_steps,
    print_table,
    safe,
    tell,
    width,
)
from clawft.cli.server_names import NO_SERVERS, no_server
from clawft.cli.start_servers import LOOK_SECONDS, SETTLE_SECONDS
from clawft.config.places import running_folder

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App
    from clawft.app.server_rows import ServerRow
    from clawft.app.status_socket import RunningWeft

REDRAW_SECONDS = 1.0
SHOWN_STDERR_LINES = 20

COLOURS = {
    "connected": "green",
    "waiting": "yellow",
    "failed": "red",
    "pending": "yellow",
    "degraded": "yellow",
    "needs-auth": "yellow",
}
GOOD = ("connected", "degraded", "disabled")

HEAD = ("NAME", "STATE", "ERA", "TRANSPORT", "TOOLS", "TOKENS", "RESTARTS", "PID", "MEMORY")
SHORT_HEAD = ("NAME", "STATE", "ERA", "VIA", "TOOLS", "TOKENS", "RST", "PID", "MEMORY")
CLEAR = "\x1b[H\x1b[J"


def _options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="one server, with its last words on stderr")
    parser.add_argument("--watch", action="store_true", help="redraw every second, at a terminal")
    parser.add_argument("--fresh", action="store_true", help="start the servers for a look, though a weft runs here")
    json_option(parser)
    common_options(parser)


def _status(options: Options) -> int:
    code = None if options.fresh else _show_running(options)
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
            tell("no weft serves here any more")
            break
        sys.stdout.write(CLEAR)
        code = _print_running(wefts, options)
    return code


def _running_here(options: Options) -> list[RunningWeft]:
    """Those of the same home, workspace and agent; with servers from the command line, those that have the same."""
    chosen = settings(options)
    if not running_folder(chosen.home).is_dir():
        return []
    from clawft.app.status_socket import StatusQuestion, mark_of, running_wefts  # brings the whole house

    asked = StatusQuestion(str(Path.cwd()))
    own, given = (str(chosen.workspace), chosen.agent), mark_of(chosen.mcp_config)
    wefts = asyncio.run(running_wefts(chosen.home, asked))
    return [weft for weft in wefts if (weft.workspace, weft.agent) == own and given in ("", weft.given)]


def _print_running(wefts: Sequence[RunningWeft], options: Options) -> int:
    rows = [row for weft in wefts for row in weft.servers]
    if options.name:
        named = [row for row in rows if row.name == options.name]
        if not named:
            raise no_server(options.name, {row.name for row in rows})
        if options.json and len(named) > 1:  # several wefts have it, and this is one document
            print_json({"servers": named})
            return 0
        return max(_print_one(row, options) for row in named)
    if options.json or not rows or not width():
        return _print(rows, options)
    for weft in wefts:
        print(paint(_heading(weft), "dim"))
        _print_table(weft.servers)
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
        code = _print(await _rows(app), options)
        sys.stdout.flush()  # some servers take seconds to end
        return code
    app.files.follow()
    while True:
        sys.stdout.write(CLEAR)
        _print(await _rows(app), options)
        await asyncio.sleep(REDRAW_SECONDS)


def _names(app: App) -> set[str]:
    servers = app.servers if app.files.name_any else None
    return {*servers.found, *servers.waiting, *servers.refused} if servers is not None else set()


async def _start(app: App, name: str | None) -> None:
    if name and name not in app.servers.wanted:
        return  # switched off, or it waits: nothing has to run to say so
    await app.start_servers([name] if name else ())
    await app.pool.settled(SETTLE_SECONDS if name else LOOK_SECONDS)


async def _rows(app: App) -> list[ServerRow]:
    from clawft.app.server_rows import server_rows  # brings the whole house

    return await server_rows(app, Path.cwd())


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def _print(found: Sequence[ServerRow], options: Options) -> int:
    if options.name:
        return _print_one(next(row for row in found if row.name == options.name), options)
    if options.json:
        print_json({"servers": found})
    elif not found:
        tell(NO_SERVERS)
    else:
        _print_table(found)
    return 0


def _print_table(found: Sequence[ServerRow]) -> None:
    """All in one row for a pipe; at a terminal short heads, and errors below, where they have room."""
    if not width():
        print_table((*HEAD, "LAST ERROR"), [[*_cells(row), one_line(_said(row))] for row in found])
        return
    print_table(SHORT_HEAD, [_cells(row) for row in found])
    said = [(row.name, one_line(row.error or _remark(row) or _weakness(row)), row.next) for row in found]
    told = [each for each in said if each[1]]
    print(end="\n" if told else "")
    print_steps(told)


def _said(row: ServerRow) -> str:
    return ": ".join(filter(None, (row.error or _remark(row), row.next)))


def _remark(row: ServerRow) -> str:
    told = [
        f"withheld: {row.withheld} of its definitions, which are not what you approved" if row.withheld else "",
        f"left out: {row.left_out}" if row.left_out else "",
        f"lost before: {row.lost}" if row.lost else "",
        _faults(row),
    ]
    return "; ".join(filter(None, told))


def _faults(row: ServerRow) -> str:
    return ", ".join(f"{words}: {count}" for words, count in (row.faults or {}).items())


def _weakness(row: ServerRow) -> str:
    """What its sandbox leaves open that it should not."""
    told = str(row.sandbox or "")
    return f"sandbox: {told}" if "(" in told.removeprefix("landlock(") else ""


def _cells(row: ServerRow) -> list[str]:
    keys = ("name", "state", "era", "transport", "tools", "tokens", "restarts", "pid")
    return [*(_cell(row, key) for key in keys), size_of(row)]


def _cell(row: ServerRow, key: str) -> str:
    value = getattr(row, key)
    return "" if value is None else one_line(str(value))


def size_of(row: ServerRow) -> str:
    used = row.memory
    return f"{used / 1024 / 1024:.0f} MiB" if used else ""


def _print_one(row: ServerRow, options: Options) -> int:
    if options.json:
        print_json(row)
    else:
        print(paint(one_line(row.name), "bold"), paint(row.state, COLOURS.get(row.state, "dim")), sep="  ")
        who, how = ("server", "origin", "trust", "sandbox"), ("transport", "era", "revision")
        keys = (*who, *how, "tools", "left_out", "tokens", "restarts", "pid")
        shown = [(key.replace("_", " "), _cell(row, key)) for key in keys]
        shown += [("withheld", f"{row.withheld} definitions: not what you approved")] if row.withheld else []
        shown += [("memory", size_of(row)), ("faults", _faults(row))]
        print_fields([*shown, ("lost before", "" if row.error else row.lost or ""), ("error", row.error)])
        print_step(row.next, indent=6)
        lines = str(row.stderr or "").splitlines()[-SHOWN_STDERR_LINES:]
        print(*(["", paint("its last words on stderr:", "dim"), *map(safe, lines)] if lines else []), sep="\n")
    return 0 if row.state in GOOD else 1


VERB = Verb(
    "Show how servers are: those of the weft that serves here, or started for a look if none does",
    _options,
    _status,
)

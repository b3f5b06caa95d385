"""`weft servers status`: starts what is configured and shows how each server is."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawft.catalog.surface import BYTES_PER_TOKEN
from clawft.cli.options import common_options, with_app
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
from clawft.cli.server_names import no_server
from clawft.cli.start_servers import SETTLE_SECONDS
from clawft.config.places import offers_folder

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App
    from clawft.config.layers import FoundServer
    from clawft.upstream.pool import ServerStatus

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

Row = dict[str, Any]

MEMBERS = (
    "name", "state", "era", "revision", "transport", "tools", "tokens", "restarts", "pid", "memory", "error", "login",
    "server", "origin", "trust", "sandbox", "left_out", "withheld", "next", "stderr",
)  # fmt: skip
"""Of a row, in their order."""


def _options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="one server, with its last words on stderr")
    parser.add_argument("--watch", action="store_true", help="redraw every second, at a terminal")
    json_option(parser)
    common_options(parser)


def _status(options: Options) -> int:
    return with_app(options, lambda app: _show(app, options), servers=False)


async def _show(app: App, options: Options) -> int:
    logging.getLogger("clawft").setLevel(logging.CRITICAL)  # what would be warned of stands in the table
    if options.name and options.name not in _names(app):
        raise no_server(options.name, _names(app))
    if app.files.name_any:
        await WaitingTalk("starting servers").during(_start(app, options.name))
    if not (options.watch and is_terminal(sys.stdout)):
        code = _print(list(rows(app)), options)
        sys.stdout.flush()  # some servers take seconds to end
        return code
    app.files.follow()
    while True:
        sys.stdout.write("\x1b[H\x1b[J")
        _print(list(rows(app)), options)
        await asyncio.sleep(REDRAW_SECONDS)


def _names(app: App) -> set[str]:
    servers = app.servers if app.files.name_any else None
    return {*servers.found, *servers.waiting, *servers.refused} if servers is not None else set()


async def _start(app: App, name: str | None) -> None:
    if name and name not in app.servers.wanted:
        return  # switched off, or it waits: nothing has to run to say so
    await app.start_servers([name] if name else ())
    await app.pool.settled(SETTLE_SECONDS)


# ── what is known ────────────────────────────────────────────────────────────────────────────────────────────────────


def rows(app: App) -> Iterator[Row]:
    """Those that run or should, then those that are switched off, wait, or cannot be read."""
    if not app.files.name_any:
        return
    servers = app.servers
    for each in app.pool.status():
        if each.name in servers.found:
            yield _running(app, each.name)
    for name, found in servers.found.items():
        if not found.spec.enabled:
            yield _idle(name, "disabled", str(found.origin))
    for name, found in servers.waiting.items():
        yield {**_idle(name, "waiting", str(found.origin), _waits(app, found)), "next": _grant(name, found)}
    for name, refused in servers.refused.items():
        yield _idle(name, "failed", refused.file, str(refused.error))


def _waits(app: App, found: FoundServer) -> str:
    from clawft.config.servers import told  # loaded with the servers

    changed = app.files.has_changed(found)
    why = f"is not what you approved (weft approvals diff {found.spec.name}), and " if changed else ""
    return f"{why}waits for approval to start {told(found.spec)}"


def _grant(name: str, found: FoundServer) -> str:
    from clawft.config.launch_approval import grant_command  # loaded with the servers

    return grant_command(name, found, Path.cwd())


def _running(app: App, name: str) -> Row:
    status = app.pool.server_status(name)
    schemas = sum(len(tool.wire) for tool in app.pool.find(name).tools)
    info = status.server_info
    login = _login(app, status)
    withheld = _withheld(app, name)
    return {
        "name": name,
        "state": status.status,
        "era": status.era,
        "revision": status.revision,
        "transport": status.transport,
        "tools": len(status.tools),
        "tokens": schemas // BYTES_PER_TOKEN,
        "restarts": status.restarts,
        "pid": status.pid,
        "memory": memory(status.pid) if status.pid else None,
        "error": f"{status.error}; log in here: {login}" if login else status.error,
        "login": login,
        "server": " ".join(str(info[key]) for key in ("name", "version") if key in info),
        "origin": str(app.servers.found[name].origin),
        "trust": app.servers.found[name].spec.trust,
        "sandbox": status.sandbox,
        "left_out": _left_out(status),
        "withheld": withheld,
        "next": f"weft approvals diff {name}" if withheld else "",
        "stderr": status.stderr,
    }


def _withheld(app: App, name: str) -> int:
    """How many of its definitions are not those that were approved."""
    from clawft.model import Origin  # loaded with the servers

    origin = Origin(name, name, trusted=app.servers.found[name].spec.trust == "trusted")
    tools = (*app.offered(name).tools, *app.beside(name))
    return sum(bool(app.approving.withheld(tool, origin, app.caller)) for tool in tools)


def _left_out(status: ServerStatus) -> str:
    """It offers more than we keep, and whose fault that is."""
    if not status.cut:
        return ""
    return f"some of its {' and '.join(status.cut)}: it lists more than there is room for beside other servers"


def _login(app: App, status: ServerStatus) -> str:
    """Where to log in, if a running weft waits for that."""
    if status.status != "needs-auth":
        return ""
    from clawft.provider.server.login_offers import offered  # only where a login is wanted

    return offered(offers_folder(app.settings.home), status.name)


def _idle(name: str, state: str, origin: str, error: str = "") -> Row:
    """With every member that one has which runs: programs read them all."""
    return {**dict.fromkeys(MEMBERS), "name": name, "state": state, "origin": origin, "error": error, "next": ""}


def memory(leader: int) -> int | None:
    """Resident bytes of everything in the session this child leads: `npx` is small, what it starts is not."""
    try:
        processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return None
    return sum(_resident(pid) for pid in processes if _session(pid) == leader) or None


def _session(pid: int) -> int:
    try:
        told = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0  # gone in the meantime
    return int(told[3])


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def _print(found: list[Row], options: Options) -> int:
    if options.name:
        return _print_one(next(row for row in found if row["name"] == options.name), options)
    if options.json:
        print_json({"servers": found})
    elif not found:
        tell("no servers; `weft servers add NAME -- COMMAND…` adds one, `weft servers import` brings those you have")
    else:
        _print_table(found)
    return 0


def _print_table(found: list[Row]) -> None:
    """All in one row for a pipe; at a terminal short heads, and errors below, where they have room."""
    if not width():
        print_table((*HEAD, "LAST ERROR"), [[*_cells(row), one_line(_said(row))] for row in found])
        return
    print_table(SHORT_HEAD, [_cells(row) for row in found])
    said = [(row["name"], one_line(row["error"] or _remark(row) or _weakness(row)), _next(row)) for row in found]
    print_steps([each for each in said if each[1]])


def _said(row: Row) -> str:
    return ": ".join(filter(None, (row["error"] or _remark(row), _next(row))))


def _next(row: Row) -> str:
    return str(row["next"])


def _remark(row: Row) -> str:
    left_out, withheld = row.get("left_out"), row.get("withheld")
    told = [
        f"withheld: {withheld} of its definitions, which are not what you approved" if withheld else "",
        f"left out: {left_out}" if left_out else "",
    ]
    return "; ".join(filter(None, told))


def _weakness(row: Row) -> str:
    """What its sandbox leaves open that it should not."""
    told = str(row.get("sandbox") or "")
    return f"sandbox: {told}" if "(" in told.removeprefix("landlock(") else ""


def _cells(row: Row) -> list[str]:
    keys = ("name", "state", "era", "transport", "tools", "tokens", "restarts", "pid")
    return [*(_cell(row, key) for key in keys), size_of(row)]


def _cell(row: Row, key: str) -> str:
    value = row.get(key)
    return "" if value is None else one_line(str(value))


def size_of(row: Mapping[str, Any]) -> str:
    used = row.get("memory")
    return f"{used / 1024 / 1024:.0f} MiB" if used else ""


def _print_one(row: Row, options: Options) -> int:
    if options.json:
        print_json(row)
    else:
        print(paint(row["name"], "bold"), paint(row["state"], COLOURS.get(row["state"], "dim")), sep="  ")
        who, how = ("server", "origin", "trust", "sandbox"), ("transport", "era", "revision")
        keys = (*who, *how, "tools", "left_out", "tokens", "restarts", "pid")
        shown = [(key.replace("_", " "), _cell(row, key)) for key in keys]
        shown += [("withheld", f"{row['withheld']} definitions: not what you approved")] if row.get("withheld") else []
        print_fields([*shown, ("memory", size_of(row)), ("error", row["error"])])
        print_step(_next(row), indent=6)
        lines = str(row["stderr"] or "").splitlines()[-SHOWN_STDERR_LINES:]
        print(*(["", paint("its last words on stderr:", "dim"), *map(safe, lines)] if lines else []), sep="\n")
    return 0 if row["state"] in GOOD else 1


VERB = Verb(
    "Start the configured servers and show how they are; a running gateway has its own, which are not asked",
    _options,
    _status,
)

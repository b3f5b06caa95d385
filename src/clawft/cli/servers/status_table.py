"""How servers are, as a table, or one of them whole."""

from __future__ import annotations

from collections.abc import Sequence

from clawft.app.server_rows import ServerRow
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, paint, print_fields, print_step, print_steps, print_table, safe, tell, width
from clawft.cli.screen.document import print_json
from clawft.cli.screen.table import GAP
from clawft.cli.servers.names import NO_SERVERS

SHOWN_STDERR_LINES = 20

COLOURS = {
    "connected": "green",
    "waiting": "yellow",
    "failed": "red",
    "refused": "red",
    "pending": "yellow",
    "degraded": "yellow",
    "needs-auth": "yellow",
}
GOOD = ("connected", "degraded", "disabled")

HEAD = ("NAME", "STATE", "ERA", "TRANSPORT", "TOOLS", "TOKENS", "RESTARTS", "PID", "MEMORY")
SHORT_HEAD = ("NAME", "STATE", "ERA", "VIA", "TOOLS", "TOKENS", "RST", "PID", "MEMORY")


def print_rows(found: Sequence[ServerRow], options: Options) -> int:
    if options.name:
        return print_one(next(row for row in found if row.name == options.name), options)
    if options.json:
        print_json({"servers": found})
    elif not found:
        tell(NO_SERVERS)
    else:
        print_table_of(found)
    return 0


def print_table_of(found: Sequence[ServerRow]) -> None:
    """All in one row for a pipe; at a terminal short heads, and errors below, where they have room."""
    if not width():
        whose = ("weft",) if len({row.weft for row in found}) > 1 else ()
        rows = [[*_cells(row), *(_cell(row, key) for key in whose), one_line(_error_and_step(row))] for row in found]
        print_table((*HEAD, *map(str.upper, whose), "LAST ERROR"), rows)
        return
    print_table(SHORT_HEAD, [_cells(row) for row in found])
    all_notes = [(row.name, one_line(row.error or _remark(row) or _weakness(row)), row.next) for row in found]
    notes = [each for each in all_notes if each[1]]
    print(end="\n" if notes else "")
    print_steps(notes)


def _error_and_step(row: ServerRow) -> str:
    return ": ".join(filter(None, (row.error or _remark(row), row.next)))


def _remark(row: ServerRow) -> str:
    remarks = [
        f"withheld: {row.withheld} of its definitions, which are not what you approved" if row.withheld else "",
        f"left out: {row.left_out}" if row.left_out else "",
        f"lost before: {row.lost}" if row.lost else "",
        _faults(row),
    ]
    return "; ".join(filter(None, remarks))


def _faults(row: ServerRow) -> str:
    return ", ".join(f"{words}: {count}" for words, count in (row.faults or {}).items())


def _weakness(row: ServerRow) -> str:
    """The gaps of its sandbox that should not be there."""
    gaps = str(row.sandbox or "")
    return f"sandbox: {gaps}" if "(" in gaps.removeprefix("landlock(") else ""


def _cells(row: ServerRow) -> list[str]:
    keys = ("name", "state", "era", "transport", "tools", "tokens", "restarts", "pid")
    return [*(_cell(row, key) for key in keys), size_of(row)]


def _cell(row: ServerRow, key: str) -> str:
    value = getattr(row, key)
    return "" if value is None else one_line(str(value))


def size_of(row: ServerRow) -> str:
    used = row.memory
    return f"{used / 1024 / 1024:.0f} MiB" if used else ""


def print_one(row: ServerRow, options: Options) -> int:
    if options.json:
        print_json(row)
    else:
        print(paint(one_line(row.name), "bold"), paint(row.state, COLOURS.get(row.state, "dim")), sep="  ")
        who, how = ("server", "origin", "trust", "sandbox"), ("transport", "era", "revision")
        keys = (*who, *how, "tools", "left_out", "tokens", "restarts", "pid", "weft")
        shown = [(key.replace("_", " "), _cell(row, key)) for key in keys]
        shown += [("withheld", f"{row.withheld} definitions: not what you approved")] if row.withheld else []
        shown += [("memory", size_of(row)), ("faults", _faults(row))]
        shown += [("lost before", "" if row.error else row.lost or ""), ("error", row.error)]
        print_fields(shown)
        print_step(row.next, indent=max((len(name) for name, value in shown if value), default=0) + GAP)
        if lines := str(row.stderr or "").splitlines()[-SHOWN_STDERR_LINES:]:
            print("", paint("its last lines on stderr:", "dim"), *map(safe, lines), sep="\n")
    return 0 if row.state in GOOD else 1

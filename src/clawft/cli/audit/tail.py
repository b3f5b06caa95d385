"""`weft audit tail`: the last calls, those that somebody looks for, and those that come meanwhile."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from clawft.cli.audit import DEFAULT_LINES, MAX_LINES
from clawft.cli.audit.lines import members_of
from clawft.cli.audit.search import AuditSearch
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, print_rows_below, print_table, tell, width
from clawft.cli.screen.document import print_json_line
from clawft.config.places import audit_file, home_folder
from clawft.store.journal_tail import JournalTail

Row = tuple[str, ...]
Line = Mapping[str, Any]
FRACTIONS_BELOW = 10
"""Milliseconds from which on nobody at a terminal wants to see their fractions."""
LOOK_SECONDS = 0.3
"""How often somebody who follows looks for further calls."""
ROWS_ABOVE = 40
"""Of those that stand above, so many decide how wide the columns of further rows are."""

NARROW = 80
"""Columns of a terminal below which who called is left to `weft audit show`."""

HEAD = ("TIME (UTC)", "ID", "VERDICT", "OUTCOME", "MS")


def run(options: Options) -> int:
    search = AuditSearch(options.server, options.tool, options.caller, options.since, errors=options.errors)
    journal = JournalTail(audit_file(home_folder()))
    count = options.lines or (DEFAULT_LINES if options.since is None else MAX_LINES)
    keep = msgspec.json.encode if options.json else _row
    found = [*islice(map(keep, search.among(map(members_of, journal.newest_first()))), count)][::-1]
    if not found:
        tell(search.nothing_found())
    shown = _show_all(found)
    while options.follow:
        sys.stdout.flush()
        time.sleep(LOOK_SECONDS)
        shown = _show_added(journal, search, shown, options)
    return 0


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def _show_all(found: Sequence[Row | bytes]) -> list[Row]:
    """The rows that a table has now."""
    rows: list[Row] = []
    for line in found:
        if isinstance(line, bytes):
            print_json_line(msgspec.Raw(line))
        else:
            rows.append(line)
    if rows:
        print_table(_head(), rows)
    return rows[-ROWS_ABOVE:]


def _show_added(journal: JournalTail, search: AuditSearch, above: list[Row], options: Options) -> list[Row]:
    added = [line for line in map(members_of, journal.added()) if search.fits(line)]
    rows = [_row(line) for line in added]
    if not added or not above or options.json:
        return _show_all([*map(msgspec.json.encode, added)] if options.json else rows) or above
    print_rows_below(_head(), above, rows)
    return [*above, *rows][-ROWS_ABOVE:]


def _row(line: Line) -> Row:
    """Whole for a pipe; at a terminal short, so that names have room: a line is found by its number, too."""
    when, took, id = str(line.get("time", ""))[:19].replace("T", " "), line.get("ms", ""), "id"
    if width():
        when, took, id = when.removeprefix(time.strftime("%Y-%m-%d ", time.gmtime())), _rounded(took), "seq"
    id, verdict, outcome, tool = (one_line(str(line.get(name, ""))) for name in (id, "verdict", "outcome", "tool"))
    return when, id, verdict, outcome, one_line(str(took)), *_who(one_line(str(line.get("caller", "")))), tool


def _head() -> Row:
    return (*HEAD, *_who("CALLER"), "TOOL")


def _who(caller: str) -> Row:
    return () if 0 < width() < NARROW else (caller,)


def _rounded(took: object) -> object:
    return f"{took:.0f}" if isinstance(took, float) and took >= FRACTIONS_BELOW else took

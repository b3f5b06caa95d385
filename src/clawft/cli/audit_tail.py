"""`weft audit tail`: the last calls, those that somebody looks for, and those that come meanwhile."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.cli.audit_search import AuditSearch, moment
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.screen import one_line, print_json_line, print_rows_below, print_table, tell, width
from clawft.config.places import audit_file, home_folder

if TYPE_CHECKING:  # help needs none of it
    from clawft.store.journal_tail import JournalTail

    Row = tuple[str, ...]
    Line = Mapping[str, Any]

DEFAULT_LINES = 20
MAX_LINES = 100_000
FRACTIONS_BELOW = 10
"""Milliseconds from which on nobody at a terminal wants to see their fractions."""
LOOK_SECONDS = 0.3
"""How often somebody who follows looks for further calls."""
ROWS_ABOVE = 40
"""Of those that stand above, so many decide how wide the columns of further rows are."""

HEAD = ("TIME (UTC)", "ID", "VERDICT", "OUTCOME", "MS", "TOOL")


def _options(parser: Parser) -> None:
    parser.add_argument(
        "-n", "--lines", metavar="N", type=_count, help=f"how many (default: {DEFAULT_LINES}; with --since all)"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on with the calls that come, until Ctrl-C")
    parser.add_argument("--server", metavar="NAME", help="only calls of tools of this server")
    parser.add_argument("--tool", metavar="GLOB", help="only calls of such tools, like 'git__*'")
    parser.add_argument("--caller", metavar="GLOB", help="only by such callers: the token, agent or client, by name")
    parser.add_argument("--errors", action="store_true", help="only what was refused or failed")
    parser.add_argument("--since", metavar="WHEN", type=_moment, help="like 10m, 2h, 3d, or 2026-07-28T09:30")
    json_option(parser, "print each call as one line of JSON")


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_LINES:
        from argparse import ArgumentTypeError  # only to complain

        raise ArgumentTypeError(f"a number of lines is 1 to {MAX_LINES}, not {text!r}")
    return int(text)


def _moment(text: str) -> float:
    try:
        return moment(text, time.time())
    except ValueError:
        from argparse import ArgumentTypeError  # only to complain

        told = "10m (also s, h, d) for so long ago, or a date in UTC like 2026-07-28 or 2026-07-28T09:30"
        raise ArgumentTypeError(f"{text!r} is no time: {told}") from None


def _tail(options: Options) -> int:
    from clawft.store.journal_tail import JournalTail  # only where the journal is read

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


def members_of(line: bytes | msgspec.Raw) -> dict[str, Any]:
    """One line as data. What somebody wrote over is shown too, as far as that goes."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"outcome": "unreadable", "tool": bytes(line).decode("utf-8", "backslashreplace")}


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
        print_table(HEAD, rows)
    return rows[-ROWS_ABOVE:]


def _show_added(journal: JournalTail, search: AuditSearch, above: list[Row], options: Options) -> list[Row]:
    added = [line for line in map(members_of, journal.added()) if search.fits(line)]
    rows = [_row(line) for line in added]
    if not added or not above or options.json:
        return _show_all([*map(msgspec.json.encode, added)] if options.json else rows) or above
    print_rows_below(HEAD, above, rows)
    return [*above, *rows][-ROWS_ABOVE:]


def _row(line: Line) -> Row:
    """Whole for a pipe; at a terminal short, so that names have room: a line is found by its number, too."""
    when, took, id = str(line.get("time", ""))[:19].replace("T", " "), line.get("ms", ""), "id"
    if width():
        when, took, id = when.removeprefix(time.strftime("%Y-%m-%d ", time.gmtime())), _rounded(took), "seq"
    id, verdict, outcome, tool = (one_line(str(line.get(name, ""))) for name in (id, "verdict", "outcome", "tool"))
    return when, id, verdict, outcome, one_line(str(took)), tool


def _rounded(took: object) -> object:
    return f"{took:.0f}" if isinstance(took, float) and took >= FRACTIONS_BELOW else took


VERB = Verb("Show the last calls, or those you look for", _options, _tail)

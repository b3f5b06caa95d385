"""`weft audit`: the record of every call, and the proof that nobody touched it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.screen import counted, one_line, print_fields, print_json, print_table, tell, width
from clawft.config.places import audit_file, home_folder
from clawft.errors import ClawftError

if TYPE_CHECKING:  # help needs none of it
    from clawft.store.journal_reading import BrokenJournal, IntactJournal

DEFAULT_LINES = 20
MAX_LINES = 100_000
FRACTIONS_BELOW = 10
"""Milliseconds from which on nobody at a terminal wants to see their fractions."""


class NotRecorded(ClawftError):
    blame = "the caller"


def _tail_options(parser: Parser) -> None:
    parser.add_argument(
        "-n", "--lines", metavar="N", type=_count, default=DEFAULT_LINES, help=f"how many (default: {DEFAULT_LINES})"
    )
    json_option(parser)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_LINES:
        from argparse import ArgumentTypeError  # only to complain

        raise ArgumentTypeError(f"a number of lines is 1 to {MAX_LINES}, not {text!r}")
    return int(text)


def _tail(options: Options) -> int:
    from clawft.store.journal_reading import tail  # only where the journal is read

    lines = [_members(line) for line in tail(audit_file(home_folder()), options.lines)]
    if options.json:
        print_json({"lines": lines})
    elif not lines:
        tell("no call recorded yet")
    else:
        print_table(("TIME (UTC)", "ID", "VERDICT", "OUTCOME", "MS", "TOOL"), [_row(line) for line in lines])
    return 0


def _members(line: bytes | msgspec.Raw) -> dict[str, Any]:
    """One line as data. What somebody wrote over is shown too, as far as that goes."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"outcome": "unreadable", "tool": bytes(line).decode("utf-8", "backslashreplace")}


def _row(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Whole for a pipe; at a terminal short, so that the names of tools have room."""
    when, took = str(line.get("time", ""))[:19].replace("T", " "), line.get("ms", "")
    if width():
        when, took = when.removeprefix(time.strftime("%Y-%m-%d ", time.gmtime())), _rounded(took)
    id, verdict, outcome, tool = (one_line(str(line.get(name, ""))) for name in ("id", "verdict", "outcome", "tool"))
    return when, id, verdict, outcome, one_line(str(took)), tool


def _rounded(took: object) -> object:
    return f"{took:.0f}" if isinstance(took, float) and took >= FRACTIONS_BELOW else took


def _show_options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of a line, from `weft audit tail`")
    json_option(parser)


def _show(options: Options) -> int:
    from clawft.store.journal_reading import find  # only where the journal is read

    line = find(audit_file(home_folder()), options.id)
    if line is None:
        raise NotRecorded(f"no line has the id {options.id}", hint="weft audit tail")
    members = _members(line)
    if options.json:
        print_json(members)
    else:
        print_fields([(name, _shown(value)) for name, value in members.items()])
    return 0


def _shown(value: Any) -> str:
    return one_line(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _verify(options: Options) -> int:
    from clawft.store.journal_reading import IntactJournal, verify  # only where the journal is read

    result = verify(audit_file(home_folder()))
    if isinstance(result, IntactJournal):
        found = {"ok": True, "lines": result.lines, "dropped": result.dropped}
        return _verified(options, found, untouched(result))
    found = {"ok": False, "file": result.file, "line": result.line, "reason": result.reason}
    return _verified(options, found, touched(result))


def untouched(result: IntactJournal) -> str:
    older = f"; {result.dropped} older ones were deleted to make room" if result.dropped else ""
    return f"{counted(result.lines, 'line')}, none was touched{older}"


def touched(result: BrokenJournal) -> str:
    """Where the chain breaks, in words."""
    return f"{result.file}:{result.line}: {result.reason}" if result.line else f"{result.file}: {result.reason}"


def _verified(options: Options, document: Mapping[str, Any], said: str) -> int:
    if options.json:
        print_json(document)
    elif document["ok"]:
        print(said)
    else:
        tell(f"weft: {said}\nhint: keep {audit_file(home_folder())} as it is, and find out who changed it")
    return 0 if document["ok"] else 1


VERBS = {
    "tail": Verb("Show the last calls", _tail_options, _tail),
    "show": Verb("Show one line whole", _show_options, _show),
    "verify": Verb("Find the first line that was touched", json_option, _verify),
}

"""`weft audit`: the record of every call, and the proof that nobody touched it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.cli import audit_tail
from clawft.cli.audit_tail import members_of
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.screen import counted, one_line, print_fields, print_json, tell
from clawft.config.places import audit_file, home_folder
from clawft.errors import ClawftError

if TYPE_CHECKING:  # help needs none of it
    from clawft.store.journal_reading import BrokenJournal, IntactJournal


class NotRecorded(ClawftError):
    blame = "the caller"


def _show_options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of a line, from `weft audit tail`")
    json_option(parser)


def _show(options: Options) -> int:
    from clawft.store.journal_reading import find  # only where the journal is read

    line = find(audit_file(home_folder()), options.id)
    if line is None:
        raise NotRecorded(f"no line has the id {options.id}", hint="weft audit tail")
    members = members_of(line)
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
    "tail": audit_tail.VERB,
    "show": Verb("Show one line whole", _show_options, _show),
    "verify": Verb("Find the first line that was touched", json_option, _verify),
}

"""`weft audit verify`: the first line that was touched, or the proof that none was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawft.cli.parser import Options
from clawft.cli.screen import counted, tell
from clawft.cli.screen.document import print_json
from clawft.config.places import audit_file, home_folder
from clawft.store.journal_reading import BrokenJournal, IntactJournal, verify


def run(options: Options) -> int:
    result = verify(audit_file(home_folder()))
    if isinstance(result, IntactJournal):
        found = {"ok": True, "lines": result.lines, "dropped": result.dropped}
        return _verified(options, found, untouched(result))
    found = {"ok": False, "file": result.file, "line": result.line, "reason": result.reason}
    return _verified(options, found, touched(result))


def untouched(result: IntactJournal) -> str:
    older = f"; {result.dropped} older ones were deleted to make room" if result.dropped else ""
    return f"{counted(result.lines, 'line')}, none was changed{older}"


def touched(result: BrokenJournal) -> str:
    """Where the chain breaks, in words."""
    return f"{result.file}:{result.line}: {result.reason}" if result.line else f"{result.file}: {result.reason}"


def _verified(options: Options, document: Mapping[str, Any], said: str) -> int:
    if options.json:
        print_json(document)
    elif document["ok"]:
        print(said)
    else:
        folder = audit_file(home_folder()).parent
        tell(f"weft: {said}\nhint: find out who changed it; then end every weft, move {folder} away, and keep it")
    return 0 if document["ok"] else 1

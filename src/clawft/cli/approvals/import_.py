"""`weft approvals import`: what another person has read and approved, taken over from their file."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path

import msgspec

from clawft.cli.approvals.book import book
from clawft.cli.approvals.export import HERE
from clawft.cli.approvals.rows import described, table
from clawft.cli.parser import Options
from clawft.cli.screen import print_table, tell
from clawft.cli.screen.document import print_json
from clawft.config.places import expanded
from clawft.errors import ConfigUnreadable, InvalidConfig
from clawft.guard.approval.book import MAX_FILE_BYTES, parse
from clawft.policy.approval import ANYONE, Approval, approved_text
from clawft.policy.pin import pin

STDIN = "-"
ANOTHER = "import what `weft approvals export --output FILE` wrote elsewhere, as it is; ask for a new one"


def run(options: Options) -> int:
    """Import the approvals that this person lacks, or has for another text."""
    file = "stdin" if options.file == STDIN else options.file
    read = [_genuine(each, file) for each in parse(_content(options.file), file, hint=ANOTHER)]
    coming = [_here(each, options) for each in read if _may_come(each, options)]
    found = {each.key: each for each in coming}.values()  # of two about one thing the later counts
    known = book()
    mine = {each.key: each for each in known.all()}
    new = [each for each in found if not _says_the_same(each, mine.get(each.key))]
    if not options.dry_run:
        known.add(*new)
    rows = [described(each, time.time()) for each in new]
    if options.json:
        print_json({"imported": rows, "dry_run": options.dry_run})
        return 0
    if rows:
        head = ("SERVER", "TOOL", "STATE", "EXPIRES", "HOLDS FOR")
        print_table(*table(rows, head))
    written = " (nothing was written)" if options.dry_run else ""
    tell(f"approvals{written}: {len(new)} new, {len(found) - len(new)} there already")
    if len(coming) < len(read):
        tell(f"{len(read) - len(coming)} left out: launches of programs (--launches), other folders or callers")
    return 0


def _may_come(each: Approval, options: Options) -> bool:
    """Whether an approval may be imported: none for other folders or callers, and of programs only if asked for."""
    is_here = each.workspace in (ANYONE, HERE)
    return is_here and each.principal == ANYONE and (bool(each.tool) or (options.launches and each.workspace == HERE))


def _content(file: str) -> bytes:
    try:
        with nullcontext(sys.stdin.buffer) if file == STDIN else expanded(file).open("rb") as source:
            return source.read(MAX_FILE_BYTES + 1)
    except OSError as failed:
        raise ConfigUnreadable(f"{file} cannot be read: {failed.strerror}", hint="weft approvals export") from None


def _genuine(each: Approval, file: str) -> Approval:
    """Raises InvalidConfig if the shown text does not match the pin, so that another text would be approved."""
    if each.shown is not msgspec.UNSET and pin(approved_text(each)) != each.pin:
        what = f"{each.tool or 'the launch'} of {each.server}"
        raise InvalidConfig(f"{file}: the approval of {what} was altered", hint=ANOTHER)
    return each


def _here(each: Approval, options: Options) -> Approval:
    """As of now, by this person's word; its end stays what it was."""
    workspace = str(Path(options.workspace).resolve()) if each.workspace == HERE else each.workspace
    return msgspec.structs.replace(each, workspace=workspace, granted=time.time(), stamp="")


def _says_the_same(new: Approval, known: Approval | None) -> bool:
    return known is not None and new.pin == known.pin and new.expires == known.expires

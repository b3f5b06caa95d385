"""`weft approvals export | import`: what one person has read and approved, for the others of a team.

Definitions of tools are the same for everyone, so that their pins travel. Launches name programs of one machine and
stay on it unless they are asked for.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from clawft.cli.approval_book import book, cells_of, described, nothing_approved
from clawft.cli.parser import Options, Parser, json_option, place_options
from clawft.cli.screen import counted, print_json, print_table, tell
from clawft.config.places import expanded
from clawft.errors import ConfigUnreadable, InvalidConfig, quoted

if TYPE_CHECKING:  # help needs none of it
    from clawft.policy.approval import Approval

HERE = "."
"""In an exported file: the workspace of whoever imports it."""
ANOTHER = "import what `weft approvals export --output FILE` wrote elsewhere, as it is; ask for a new one"


def export_options(parser: Parser) -> None:
    parser.add_argument("servers", metavar="SERVER", nargs="*", help="only what is about these servers")
    parser.add_argument("--output", metavar="FILE", default="-", help="where to (default: stdout)")
    parser.add_argument("--launches", action="store_true", help="with approvals to start servers of this workspace")
    place_options(parser)


def export(options: Options) -> int:
    from clawft.guard.approval.book import write_out  # only where approvals are looked at
    from clawft.policy.approval import is_live

    workspace = str(Path(options.workspace).resolve())
    chosen = [each for each in book().all() if not options.servers or each.server in options.servers]
    live = [each for each in chosen if is_live(each, time.time()) and _travels(each, workspace, options)]
    if options.servers and not live:
        raise nothing_approved(" or ".join(options.servers))
    text = write_out(_there(each, workspace) for each in live)
    if options.output == "-":
        sys.stdout.write(text.decode())
    else:
        _write(expanded(options.output), text)
        many = counted(len(live), "approval")
        tell(f"{many} written to {options.output}; weft approvals import {quoted(options.output)}")
    return 0


def _write(path: Path, text: bytes) -> None:
    """Whole or not at all, and for this person only: it says what they trust. A link is replaced, not followed."""
    from clawft.store.home import write_private  # loaded with the book

    if path.is_relative_to("/dev") or (path.exists() and not path.is_file()):  # a device, or somebody's pipe
        path.write_bytes(text)
    else:
        write_private(path, text)


def _travels(each: Approval, workspace: str, options: Options) -> bool:
    """What holds for one other folder, or one caller, says nothing elsewhere."""
    from clawft.policy.approval import ANYONE  # loaded with the book

    is_here = each.workspace in (ANYONE, workspace)
    return is_here and each.principal == ANYONE and (bool(each.tool) or options.launches)


def _there(each: Approval, workspace: str) -> Approval:
    import msgspec  # loaded with the book

    return msgspec.structs.replace(each, workspace=HERE) if each.workspace == workspace else each


def import_options(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="what `weft approvals export` wrote; - for stdin")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be approved")
    parser.add_argument("--launches", action="store_true", help="with approvals to start servers of this workspace")
    json_option(parser)
    place_options(parser)


def import_(options: Options) -> int:
    """What this person does not have yet, or has in another form."""
    told = [_genuine(each, options.file) for each in _read(options.file)]
    coming = [_here(each, options) for each in told if _may_come(each, options)]
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
        print_table(head, [cells_of(row, head) for row in rows])
    written = " (nothing was written)" if options.dry_run else ""
    tell(f"approvals{written}: {len(new)} new, {len(found) - len(new)} there already")
    if len(coming) < len(told):
        tell(f"{len(told) - len(coming)} left out: what is about programs (--launches), other folders or callers")
    return 0


def _may_come(each: Approval, options: Options) -> bool:
    """Whoever wrote the file says nothing about other folders or callers, and nothing about programs unless asked."""
    from clawft.policy.approval import ANYONE  # loaded with the book

    is_here = each.workspace in (ANYONE, HERE)
    return is_here and each.principal == ANYONE and (bool(each.tool) or (options.launches and each.workspace == HERE))


def _read(file: str) -> tuple[Approval, ...]:
    from clawft.guard.approval.book import MAX_FILE_BYTES, parse  # only where approvals are looked at

    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else expanded(file).open("rb") as source:
            content = source.read(MAX_FILE_BYTES + 1)
    except OSError as failed:
        raise ConfigUnreadable(f"{file} cannot be read: {failed.strerror}", hint="weft approvals export") from None
    return parse(content, file, hint=ANOTHER)


def _genuine(each: Approval, file: str) -> Approval:
    """Raises InvalidConfig if what would be shown as approved is not what is approved."""
    import msgspec  # loaded with the book

    from clawft.policy.approval import approved_text
    from clawft.policy.pin import pin

    if each.shown is not msgspec.UNSET and pin(approved_text(each)) != each.pin:
        what = f"{each.tool or 'the launch'} of {each.server}"
        raise InvalidConfig(f"{file}: the approval of {what} was altered", hint=ANOTHER)
    return each


def _here(each: Approval, options: Options) -> Approval:
    """As of now, by this person's word; its end stays what it was."""
    import msgspec  # loaded with the book

    workspace = str(Path(options.workspace).resolve()) if each.workspace == HERE else each.workspace
    return msgspec.structs.replace(each, workspace=workspace, granted=time.time(), stamp="")


def _says_the_same(new: Approval, known: Approval | None) -> bool:
    return known is not None and new.pin == known.pin and new.expires == known.expires

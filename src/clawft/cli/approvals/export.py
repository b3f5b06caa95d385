"""`weft approvals export`: what one person has read and approved, for the others of a team.

Definitions of tools are the same for everyone, so that their pins travel. Launches name programs of one machine and
stay on it unless they are asked for.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from clawft.cli.approvals.book import book, nothing_approved
from clawft.cli.parser import Options
from clawft.cli.screen import counted, tell
from clawft.config.places import expanded
from clawft.error_words import quoted
from clawft.errors import ClawftError
from clawft.guard.approval.book import write_out
from clawft.policy.approval import ANYONE, Approval, is_live
from clawft.store.private_files import write_private

HERE = "."
"""In an exported file: the workspace of whoever imports it."""


def run(options: Options) -> int:
    workspace = str(Path(options.workspace).resolve())
    chosen = [each for each in book().all() if not options.servers or each.server in options.servers]
    live = [each for each in chosen if is_live(each, time.time()) and _travels(each, workspace, options)]
    for server in options.servers:
        if not any(each.server == server for each in live):
            raise nothing_approved(server)
    text = write_out(_there(each, workspace) for each in live)
    if options.output == "-":
        sys.stdout.write(text.decode())
    else:
        _write(expanded(options.output), text)
        many = counted(len(live), "approval")
        tell(f"{many} written to {options.output}; weft approvals import {quoted(options.output)}")
    return 0


def _write(path: Path, text: bytes) -> None:
    """Write the file atomically, for its owner only: it says what they trust. A link is replaced, not followed."""
    try:
        if path.is_relative_to("/dev") or (path.exists() and not path.is_file()):  # a device, or somebody's pipe
            path.write_bytes(text)
        else:
            write_private(path, text)
    except OSError as failed:
        why = f"{path} cannot be written: {failed.strerror}"
        raise ClawftError(why, hint="name a file in a folder of yours: --output FILE") from None


def _travels(each: Approval, workspace: str, options: Options) -> bool:
    """Whether an approval can be exported: one for another folder, or for one caller, means nothing elsewhere."""
    is_here = each.workspace in (ANYONE, workspace)
    return is_here and each.principal == ANYONE and (bool(each.tool) or options.launches)


def _there(each: Approval, workspace: str) -> Approval:
    return msgspec.structs.replace(each, workspace=HERE) if each.workspace == workspace else each

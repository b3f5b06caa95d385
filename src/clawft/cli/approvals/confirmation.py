"""Prints what was approved or revoked."""

from __future__ import annotations

import time
from collections.abc import Sequence

from clawft.cli.approvals import texts
from clawft.cli.approvals.rows import LAUNCH, described
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, print_fields, tell
from clawft.cli.screen.document import print_json
from clawft.policy.approval import Approval
from clawft.policy.pin import INSTRUCTIONS


def tell_all(done: str, given: Sequence[Approval], options: Options) -> int:
    """Print everything that was approved, as the person may read it now; what all tools of a server share only once."""
    if options.json:
        print_json({done: [described(each, time.time()) for each in given]})
        return 0
    shown: set[tuple[str, str]] = set()
    for each in given:
        print(one_line(f"{done}: {each.server} {each.tool or LAUNCH}"))
        if done == "approved":
            fields = [(name, text) for name, text in texts.fields(each) if (each.server, text) not in shown]
            print_fields([(f"  {name}", one_line(text)) for name, text in fields])
            shown.update((each.server, text) for name, text in fields if name == INSTRUCTIONS)
    tell("a running weft follows within a second")
    return 0

"""`weft audit show`: one line whole."""

from __future__ import annotations

from typing import Any

import msgspec

from clawft.cli.audit.lines import members_of
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, print_fields
from clawft.cli.screen.document import print_json
from clawft.config.places import audit_file, home_folder
from clawft.errors import ClawftError
from clawft.store.journal_reading import find


class NotRecorded(ClawftError):
    blame = "the caller"


def run(options: Options) -> int:
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

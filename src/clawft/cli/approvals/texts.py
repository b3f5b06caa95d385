"""An approved definition as text, member by member."""

from __future__ import annotations

import msgspec

from clawft.cli.screen import safe
from clawft.policy.approval import Approval, approved_text

ABSENT = "(not there)"


def fields(each: Approval) -> list[tuple[str, str]]:
    """The approved text, member by member."""
    return [(name, "\n".join(lines(value))) for name, value in approved_text(each).items() if name != "name"]


def lines(value: object) -> list[str]:
    """A text by its lines, everything else as readable JSON."""
    if value is None:
        return [ABSENT]
    text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return safe(text).removesuffix("\n").split("\n")

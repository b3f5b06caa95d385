"""Searches the audit for calls. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from clawft.policy.globs import any_matches

LATE_SECONDS = 3600.0
"""Lines may be written so much later than they happened, behind others: a disk was full, say."""

_REFUSED, _FAILED = ("deny", "hidden"), ("error", "failed", "lost", "unreadable")


class AuditSearch(Struct, frozen=True):
    """None for what does not matter."""

    server: str | None = None
    tool: str | None = None
    caller: str | None = None
    since: float | None = None
    errors: bool = False

    def among(self, newest_first: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """The calls that fit. Where time matters, no line is looked at that is much too old."""
        for line in newest_first:
            if self.since is not None and _happened(line, self.since) < self.since - LATE_SECONDS:
                return
            if self.fits(line):
                yield line

    def fits(self, line: Mapping[str, Any]) -> bool:
        return (
            self.server in (None, line.get("server"))
            and (self.tool is None or any_matches([_text(line, "tool")], (self.tool,)))
            and (self.caller is None or any_matches(_callers(line), (self.caller,)))
            and (self.since is None or _happened(line, self.since) >= self.since)
            and (not self.errors or went_wrong(line))
        )

    def nothing_found(self) -> str:
        """In words that repeat what was looked for."""
        asked = [
            f"is of the server {self.server}" if self.server is not None else "",
            f"is of a tool {self.tool}" if self.tool is not None else "",
            f"is by {self.caller}" if self.caller is not None else "",
            "is as new" if self.since is not None else "",
            "went wrong" if self.errors else "",
        ]
        criteria = " and ".join(filter(None, asked))
        return (
            f"no recorded call {criteria}; weft audit tail shows the latest calls"
            if criteria
            else "no call recorded yet"
        )


def went_wrong(line: Mapping[str, Any]) -> bool:
    """Refused, failed, or a line that is none. To be cancelled, or to ask something first, is no failure."""
    return _text(line, "verdict").startswith(_REFUSED) or _text(line, "outcome").startswith(_FAILED)


def _callers(line: Mapping[str, Any]) -> list[str]:
    return [_text(line, "caller"), _text(line, "agent"), _text(line, "client")]


def _text(line: Mapping[str, Any], member: str) -> str:
    return str(line.get(member, ""))


def _happened(line: Mapping[str, Any], unless_told: float) -> float:
    """When; what has no time that can be read may be as new as anything."""
    try:
        return datetime.fromisoformat(_text(line, "time")).timestamp()
    except (ValueError, OverflowError):
        return unless_told

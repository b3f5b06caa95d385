"""Turns git's progress lines into progress of a call. Pure."""

import re
from collections.abc import Callable

_LINE = re.compile(r"(?:remote: )?(?P<phase>[A-Z][a-z]+(?: [a-z]+)*):\s+(?P<percent>\d{1,3})% \((?P<count>\d+/\d+)\)")
_ENDS = re.compile(rb"[\r\n]")

PHASES = (
    "Enumerating objects",
    "Counting objects",
    "Compressing objects",
    "Writing objects",
    "Receiving objects",
    "Unpacking objects",
    "Resolving deltas",
    "Updating files",
)
"""In their order; each counts a hundred steps. Other phases of git count as the one before them."""
TOTAL = 100.0 * len(PHASES)
LONGEST_LINE = 4096

TellProgress = Callable[[float, float | None, str], None]


class GitProgress:
    """Takes git's stderr; reports each step once, and never backwards."""

    def __init__(self, report: TellProgress) -> None:
        self._report = report
        self._rest = b""
        self._done = 0.0

    def feed(self, data: bytes) -> None:
        *lines, self._rest = _ENDS.split(self._rest + data)
        self._rest = self._rest[-LONGEST_LINE:]
        for line in lines:
            self._line(line.decode("utf-8", "replace"))

    def _line(self, line: str) -> None:
        found = _LINE.match(line)
        if found is None or found["phase"] not in PHASES:
            return
        done = 100.0 * PHASES.index(found["phase"]) + min(int(found["percent"]), 100)
        if done > self._done:
            self._done = done
            self._report(done, TOTAL, f"{found['phase']} {found['count']}")

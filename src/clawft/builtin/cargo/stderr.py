"""Parses cargo's stderr: progress (`Compiling x v1`, a bar with `3/17`) and printed findings. Pure."""

import re

from msgspec import Struct

from clawft.builtin.build.report import Diagnostic, Level, Span
from clawft.builtin.build.report_limit import ReportLimit

MAX_DIAGNOSTICS = 5_000

_STEP = re.compile(
    r"\s*(?P<verb>Blocking|Compiling|Checking|Documenting|Downloading|Downloaded|Fresh|Running|Doc-tests|Packaging|Packaged"
    r"|Verifying|Uploading|Published) (?P<rest>.{1,300})"
)
_BAR = re.compile(r"\s*(?:Building|Downloading) \[[=> ]*\] (?P<done>\d{1,9})/(?P<total>\d{1,9})")
_BAR_LINE = re.compile(r"\s*\w+ \[[=> ]*\] ")
_PATH = re.compile(r" \((?:/|[A-Za-z]:\\).*\)$")
_FINDING = re.compile(r"(?P<level>error|warning)(?:\[(?P<code>\w+)\])?: (?P<message>.+)$")
_PLACE = re.compile(r"\s*--> (?P<file>.+?):(?P<line>\d{1,9}):(?P<column>\d{1,9})$")

_LEVELS: dict[str, Level] = {"error": "error", "warning": "warning"}


class CargoProgress(Struct):
    """Steps begun and units done; they only grow, as the protocol requires."""

    begun: int = 0
    done: int = 0
    total: int | None = None
    said: str = ""
    told: int = 0

    def hear(self, line: str) -> bool:
        """Read a line; True if there is progress to report."""
        bar = _BAR.match(line)
        step = None if bar else _STEP.match(line)
        if bar:
            self.done, self.total = max(self.done, int(bar["done"])), int(bar["total"])
        elif step:
            self.begun += 1
            self.said = f"{step['verb']} {_PATH.sub('', step['rest'])}"
        news = self.reached > self.told and bool(bar or step)
        self.told = max(self.told, self.reached)
        return news

    @property
    def reached(self) -> int:
        return max(self.begun, self.done)

    @property
    def all(self) -> int | None:
        return None if self.total is None else max(self.total, self.reached)

    @property
    def message(self) -> str:
        """A text such as `Compiling x v1 (3/17)`."""
        return self.said if self.total is None else f"{self.said} ({self.reached}/{self.all})"


def is_bar(line: str) -> bool:
    return _BAR_LINE.match(line) is not None


class PrintedFindings:
    """Reads findings in the form for people: a line with the level, then one with the place."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self._room = ReportLimit(MAX_DIAGNOSTICS)
        self._open: re.Match[str] | None = None

    def hear(self, line: str) -> None:
        if not self._room.is_left():
            return
        place = _PLACE.match(line)
        if place and self._open is not None:
            self._room.take(len(self._open[0]) + len(line))
            self.found.append(_diagnostic(self._open, place))
            self._open = None
        elif finding := _FINDING.match(line):
            self._open = finding


def _diagnostic(finding: re.Match[str], place: re.Match[str]) -> Diagnostic:
    at = Span(place["file"], int(place["line"]), int(place["column"]), primary=True)
    level = _LEVELS[finding["level"]]
    return Diagnostic(level, finding["message"], finding["code"] or "", at.file, at.line, at.column, (at,))

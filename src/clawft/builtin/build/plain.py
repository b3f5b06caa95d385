"""Parses the output of make and npm: the programs they start write findings in usual line formats."""

import re

from clawft.builtin.build.report import BuildReport, Diagnostic, Level, Span, unique
from clawft.builtin.build.report_limit import ReportLimit
from clawft.builtin.build.run import Keep
from clawft.builtin.build.runner import TellProgress, Template

MAX_DIAGNOSTICS = 5_000

_FILE = r"[^\s:()>'\"](?:(?! ['\"])[^:()])*"
"""Excludes commands that are printed before they run, such as npm's `> echo 'a.c:3: error: …'`."""
_FINDINGS = (
    # C compilers and many linters: main.c:3:5: error: …
    re.compile(
        rf"(?P<file>{_FILE}):(?P<line>\d{{1,9}}):(?:(?P<column>\d{{1,9}}):)? "
        r"(?:fatal )?(?P<level>error|warning|note)(?:\[(?P<code>[\w-]+)\])?: (?P<message>.+)$"
    ),
    # tsc: src/a.ts(3,5): error TS2322: …
    re.compile(
        rf"(?P<file>{_FILE})\((?P<line>\d{{1,9}}),(?P<column>\d{{1,9}})\): "
        r"(?P<level>error|warning) (?P<code>\w+): (?P<message>.+)$"
    ),
    # make itself: make: *** [Makefile:3: all] Error 1
    re.compile(
        r"\w*make(?:\[\d+\])?: \*\*\* \[(?P<file>[^:\]]+):(?P<line>\d{1,9}): (?P<target>[^\]]+)\] (?P<message>.+)$"
    ),
)
_LEVELS: dict[str, Level] = {"error": "error", "warning": "warning", "note": "note"}


class PlainParser:
    """An `OutputParser` of lines."""

    def __init__(self, tell: TellProgress) -> None:
        self._found: list[Diagnostic] = []
        self._room = ReportLimit(MAX_DIAGNOSTICS)

    def stdout(self, line: str) -> Keep:
        finding = read_finding(line) if self._room.is_left() else None
        if finding is not None and self._room.take(len(line)):
            self._found.append(finding)
        return Keep.SHOWN

    def stderr(self, line: str) -> Keep:
        return self.stdout(line)

    def report(self, written: bytes | None) -> BuildReport:
        return BuildReport(unique(self._found))


def read_finding(line: str) -> Diagnostic | None:
    for pattern in _FINDINGS:
        found = pattern.match(line)
        if found:
            return _diagnostic(found.groupdict(default=""))
    return None


def _diagnostic(parts: dict[str, str]) -> Diagnostic:
    at = Span(parts["file"], int(parts["line"]), int(parts.get("column") or 0), primary=True)
    level = _LEVELS[parts.get("level") or "error"]
    message = f"{target}: {parts['message']}" if (target := parts.get("target")) else parts["message"]
    return Diagnostic(level, message, parts.get("code", ""), at.file, at.line, at.column, (at,))


MAKE = Template(programs=("make", "gmake"), words=("{args}", "--", "{target}"), makes_parser=PlainParser)
NPM = Template(programs=("npm",), words=("run", "{target}", "--", "{args}"), makes_parser=PlainParser)

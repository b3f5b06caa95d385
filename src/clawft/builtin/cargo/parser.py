"""Parses all output of cargo: messages and tests on stdout, progress and findings on stderr."""

from typing import Any

from clawft.builtin.build.report import BuildReport, Diagnostic, unique
from clawft.builtin.build.report_limit import ReportLimit
from clawft.builtin.build.run import Keep
from clawft.builtin.build.runner import TellProgress
from clawft.builtin.build.shortening import size_of
from clawft.builtin.cargo.libtest import Libtest, Program, header
from clawft.builtin.cargo.messages import read_diagnostic, read_object
from clawft.builtin.cargo.stderr import MAX_DIAGNOSTICS, CargoProgress, PrintedFindings, is_bar

MAX_MESSAGES = 10_000
MAX_MESSAGES_CHARS = 64 * 1024
"""Characters of the messages that are kept; a result shows less."""
MAX_PROGRAMS = 1_000
"""Test programs of one run whose names are kept."""


class CargoParser:
    """The `OutputParser` of cargo. `messages` are cargo's own, unchanged."""

    def __init__(self, tell: TellProgress, *, json: bool = True) -> None:
        """Without `json`, lines that look like JSON were printed by a test."""
        self.messages: list[dict[str, Any]] = []
        self._tell = tell
        self._json = json
        self._diagnostics: list[Diagnostic] = []
        self._tests = Libtest()
        self._programs: list[Program] = []
        self._room_of_messages = ReportLimit(MAX_MESSAGES, MAX_MESSAGES_CHARS)
        self._room_of_findings = ReportLimit(MAX_DIAGNOSTICS)
        self._room_of_programs = ReportLimit(MAX_PROGRAMS, MAX_MESSAGES_CHARS)
        self._progress = CargoProgress()
        self._findings = PrintedFindings()

    def stdout(self, line: str) -> Keep:
        message = read_object(line) if self._json else None
        if message is None:
            self._tests.hear(line)
            return Keep.SHOWN
        if self._room_of_messages.take(len(line)):
            self.messages.append(message)
        finding = read_diagnostic(line) if self._room_of_findings.is_left() else None
        if finding is not None and self._room_of_findings.take(size_of(finding)):
            self._diagnostics.append(finding)
        return Keep.LOGGED

    def stderr(self, line: str) -> Keep:
        if self._progress.hear(line):
            self._tell(self._progress.reached, self._progress.all, self._progress.message)
        if is_bar(line):
            return Keep.DROPPED
        if (program := header(line)) and self._room_of_programs.take(len(line)):
            self._programs.append(program)
        self._findings.hear(line)
        return Keep.SHOWN

    def report(self, written: bytes | None) -> BuildReport:
        """Printed findings count only where cargo wrote no JSON."""
        return BuildReport(unique(self._diagnostics or self._findings.found), self._tests.cases(self._programs))

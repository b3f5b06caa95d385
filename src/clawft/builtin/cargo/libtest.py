"""What Rust's test programs print: one line per test, then the output of those that failed. Pure.

Names of the programs are on the other stream (`Running unittests src/lib.rs (…)`), in the same order.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from clawft.builtin.build.log import Log
from clawft.builtin.build.report import Case, Ending
from clawft.builtin.build.room import ReportRoom

MAX_CASES = 50_000
MAX_FAILURE_BYTES = 8 * 1024
"""Kept of what one failed test printed: the last of it."""
MAX_FAILURES = 200
"""Failed tests of which that is kept; a result has no room for more."""

_BEGIN = re.compile(r"running (\d+) tests?$")
_CASE = re.compile(r"test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<ending>ok|FAILED|ignored)(?:, (?P<why>.*))?$")
_SECTION = re.compile(r"---- (?P<name>.+) stdout ----$")
_RESULT = re.compile(r"test result: ")
_HEADER = re.compile(r"\s+(?:Running (?:unittests )?(?P<file>\S+)|Doc-tests (?P<docs>\S+))")

_ENDINGS: dict[str, Ending] = {"ok": "passed", "FAILED": "failed", "ignored": "ignored"}


class Libtest:
    """Hears stdout lines; knows the cases, each with the number of the program it belongs to."""

    def __init__(self) -> None:
        self.programs = 0
        self._cases: dict[tuple[int, str], Case] = {}
        self._room = ReportRoom(MAX_CASES)
        self._outputs: dict[tuple[int, str], Log] = {}
        self._section: Log | None = None

    def hear(self, line: str) -> None:
        if _BEGIN.match(line):
            self.programs += 1
            self._section = None
        elif section := _SECTION.match(line):
            self._section = self._output_of(section["name"])
        elif line == "failures:" or _RESULT.match(line):
            self._section = None
        elif self._section is not None:
            self._section.add(line[-MAX_FAILURE_BYTES:])
        elif case := _CASE.match(line):
            self._add_case(case)

    def cases(self, headers: Sequence[str]) -> tuple[Case, ...] | None:
        """All of them, or None if no test program ran. Named by the headers if there is one for each program."""
        if not self.programs:
            return None
        names = headers if len(headers) == self.programs else [""] * self.programs
        return tuple(
            replace(case, suite=names[program - 1] if program else "", output=self._output(program, case))
            for (program, _), case in self._cases.items()
        )

    def _add_case(self, found: re.Match[str]) -> None:
        if self._room.take(len(found[0])):
            case = Case(found["name"], _ENDINGS[found["ending"]], output=found["why"] or "")
            self._cases[self.programs, case.name] = case

    def _output_of(self, name: str) -> Log:
        """Where the lines of this test go; of one too many, nowhere."""
        kept = Log(MAX_FAILURE_BYTES)
        return self._outputs.setdefault((self.programs, name), kept) if len(self._outputs) < MAX_FAILURES else kept

    def _output(self, program: int, case: Case) -> str:
        kept = self._outputs.get((program, case.name))
        return (kept.text().strip("\n") if kept else "") or case.output


def header(line: str) -> str:
    """The test program this line of stderr announces, or nothing."""
    found = _HEADER.match(line)
    return "" if found is None else found["file"] or f"doc {found['docs']}"

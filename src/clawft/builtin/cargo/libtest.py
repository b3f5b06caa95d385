"""Parses the output of Rust's test programs: a line per test, the output of failed ones, their names at the end. Pure.

Output of the tests themselves may look the same, so the failed tests are those named at the end. Names of the programs
are on the other stream (`Running unittests src/lib.rs (…)`), in the same order.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from clawft.builtin.build.log import Log
from clawft.builtin.build.report import Case, Ending
from clawft.builtin.build.report_limit import ReportLimit

MAX_CASES = 50_000
MAX_FAILURE_BYTES = 8 * 1024
"""The end of a failed test's output that is kept."""
MAX_FAILURES = 200
"""Failed tests whose output is kept; a result has no room for more."""

_BEGIN = re.compile(r"running (\d+) tests?$")
_CASE = re.compile(r"test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<ending>ok|FAILED|ignored)(?:, (?P<why>.*))?$")
_SECTION = re.compile(r"---- (?P<name>.+) stdout ----$")
_NAMED = re.compile(r"    (?P<name>\S.*)$")
_RESULT = re.compile(r"test result: (?:ok|FAILED)\. \d+ passed; (?P<failed>\d{1,9}) failed; \d+ ignored; ")
_HEADER = re.compile(r"\s+(?:Running (?:unittests )?(?P<file>\S+)(?: \((?P<program>\S+)\))?|Doc-tests (?P<docs>\S+))")
_HASH = re.compile(r"-[0-9a-f]{4,64}(?:\.exe)?$")

_ENDINGS: dict[str, Ending] = {"ok": "passed", "FAILED": "failed", "ignored": "ignored"}


class Program(Struct, frozen=True):
    """A test program by its source file, its crate, and its own name."""

    file: str
    crate: str = ""
    own: str = ""


class Libtest:
    """Reads lines of stdout into cases, each with the number of its program."""

    def __init__(self) -> None:
        self.programs = 0
        self._cases: dict[tuple[int, str], Case] = {}
        self._room = ReportLimit(MAX_CASES)
        self._outputs: dict[tuple[int, str], Log] = {}
        self._section: Log | None = None
        self._named: dict[str, None] = {}
        """Failed tests of the current program, as it names them at the end."""
        self._room_of_names = ReportLimit(MAX_CASES)
        self._failed: dict[int, frozenset[str]] = {}
        """Failed tests of each program that has ended."""
        self._before = ""

    def hear(self, line: str) -> None:
        if _BEGIN.match(line) and self._may_begin():
            self.programs += 1
            self._begin_names()
        elif section := _SECTION.match(line):
            self._section = self._output_of(section["name"])
        elif line == "failures:":
            self._begin_names()
        elif result := _RESULT.match(line):
            self._end(int(result["failed"]))
        elif self._section is not None:
            self._section.add(line[-MAX_FAILURE_BYTES:])
        elif case := _CASE.match(line):
            self._add_case(case)
        elif (named := _NAMED.match(line)) and self._room_of_names.take(len(line)):
            self._named[named["name"]] = None
        self._before = line

    def _may_begin(self) -> bool:
        """Whether a program can begin here: none is running, or an empty line came before."""
        return not self.programs or self.programs in self._failed or not self._before

    def _begin_names(self) -> None:
        self._section, self._named = None, {}
        self._room_of_names = ReportLimit(MAX_CASES)

    def _end(self, failed: int) -> None:
        self._section = None
        if len(self._named) == failed:
            self._failed[self.programs] = frozenset(self._named)
            for name in self._named:
                self._add_failed(name)

    def cases(self, headers: Sequence[Program]) -> tuple[Case, ...] | None:
        """All cases; None if no test program ran. `headers` give the programs' names, if there is one for each."""
        if not self.programs:
            return None
        names = _told_apart(headers) if len(headers) == self.programs else [""] * self.programs
        return tuple(
            replace(case, suite=names[program - 1] if program else "", output=self._output(program, case))
            for (program, _), case in self._cases.items()
            if case.ending != "failed" or case.name in self._failed.get(program, (case.name,))
        )

    def _add_case(self, found: re.Match[str]) -> None:
        if self._room.take(len(found[0])):
            case = Case(found["name"], _ENDINGS[found["ending"]], output=found["why"] or "")
            self._cases[self.programs, case.name] = case

    def _add_failed(self, name: str) -> None:
        """Add a failed test whose own line was lost in the output."""
        known = self._cases.get((self.programs, name))
        if (known is None or known.ending != "failed") and self._room.take(len(name)):
            self._cases[self.programs, name] = Case(name, "failed")

    def _output_of(self, name: str) -> Log:
        """The log for this test's output; beyond the bound one that is discarded."""
        kept = Log(MAX_FAILURE_BYTES)
        return self._outputs.setdefault((self.programs, name), kept) if len(self._outputs) < MAX_FAILURES else kept

    def _output(self, program: int, case: Case) -> str:
        kept = self._outputs.get((program, case.name))
        return (kept.text().strip("\n") if kept else "") or case.output


def header(line: str) -> Program | None:
    """The test program that this line of stderr announces."""
    found = _HEADER.match(line)
    if found is None:
        return None
    if found["docs"]:
        return Program(f"doc {found['docs']}")
    own = re.split(r"[/\\]", found["program"] or "")[-1]
    return Program(found["file"], _HASH.sub("", own), own)


def _told_apart(programs: Sequence[Program]) -> list[str]:
    """Unique names: the file; if several share it, crate and file; else the program's own name and file."""
    files = [each.file for each in programs]
    crates = [f"{each.crate} {each.file}" for each in programs]
    own = [f"{each.own} {each.file}" for each in programs]
    named = zip(files, _shared(files), crates, _shared(crates), own, strict=True)
    return [last if both else crate if one else file for file, one, crate, both, last in named]


def _shared(names: Iterable[str]) -> list[bool]:
    """For each name, whether another is equal."""
    names = list(names)
    count = Counter(names)
    return [count[name] > 1 for name in names]

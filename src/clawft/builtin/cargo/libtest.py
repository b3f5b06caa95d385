"""What Rust's test programs print: one line per test, the output of those that failed, and at last their names. Pure.

What a test writes past the harness may look like any of it, so those that failed are the ones that are named at last.
Names of the programs are on the other stream (`Running unittests src/lib.rs (…)`), in the same order.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
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
    """Hears stdout lines; knows the cases, each with the number of the program it belongs to."""

    def __init__(self) -> None:
        self.programs = 0
        self._cases: dict[tuple[int, str], Case] = {}
        self._room = ReportRoom(MAX_CASES)
        self._outputs: dict[tuple[int, str], Log] = {}
        self._section: Log | None = None
        self._named: dict[str, None] = {}
        """Those of this program that failed, as it names them at last."""
        self._room_of_names = ReportRoom(MAX_CASES)
        self._failed: dict[int, frozenset[str]] = {}
        """Those that failed, of each program that came to its end."""
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
        """Not while one runs, unless that ended without a word: an empty line comes first."""
        return not self.programs or self.programs in self._failed or not self._before

    def _begin_names(self) -> None:
        self._section, self._named = None, {}
        self._room_of_names = ReportRoom(MAX_CASES)

    def _end(self, failed: int) -> None:
        self._section = None
        if len(self._named) == failed:
            self._failed[self.programs] = frozenset(self._named)
            for name in self._named:
                self._add_failed(name)

    def cases(self, headers: Sequence[Program]) -> tuple[Case, ...] | None:
        """All of them, or None if no test program ran. Named by the headers if there is one for each program."""
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
        """One whose line was lost among what a test wrote."""
        known = self._cases.get((self.programs, name))
        if (known is None or known.ending != "failed") and self._room.take(len(name)):
            self._cases[self.programs, name] = Case(name, "failed")

    def _output_of(self, name: str) -> Log:
        """Where the lines of this test go; of one too many, nowhere."""
        kept = Log(MAX_FAILURE_BYTES)
        return self._outputs.setdefault((self.programs, name), kept) if len(self._outputs) < MAX_FAILURES else kept

    def _output(self, program: int, case: Case) -> str:
        kept = self._outputs.get((program, case.name))
        return (kept.text().strip("\n") if kept else "") or case.output


def header(line: str) -> Program | None:
    """The test program this line of stderr announces."""
    found = _HEADER.match(line)
    if found is None:
        return None
    if found["docs"]:
        return Program(f"doc {found['docs']}")
    own = re.split(r"[/\\]", found["program"] or "")[-1]
    return Program(found["file"], _HASH.sub("", own), own)


def _told_apart(programs: Sequence[Program]) -> list[str]:
    """Each by its file; where several have that, by crate and file; where it must be, by its own name and file."""
    files = [each.file for each in programs]
    crates = [f"{each.crate} {each.file}" for each in programs]
    own = [f"{each.own} {each.file}" for each in programs]
    named = zip(files, _shared(files), crates, _shared(crates), own, strict=True)
    return [last if both else crate if one else file for file, one, crate, both, last in named]


def _shared(names: Iterable[str]) -> list[bool]:
    """Of each, whether another is called the same."""
    names = list(names)
    count = Counter(names)
    return [count[name] > 1 for name in names]

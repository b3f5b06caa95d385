"""Parses the JSON report of vitest and jest, which write the same form."""

from collections.abc import Iterator
from itertools import takewhile

import msgspec
from msgspec import Struct

from clawft.builtin.build.report import BuildReport, Case, Ending
from clawft.builtin.build.report_limit import MAX_OUTPUT_CHARS, ReportLimit
from clawft.builtin.build.run import Keep
from clawft.builtin.build.runner import TellProgress, Template

MAX_CASES = 50_000
MAX_VALUES = 1_000_000
"""Values in one report; some tests have twenty. Empty objects take fifty times as much memory as in a file."""

_ENDINGS: dict[str, Ending] = {"passed": "passed", "failed": "failed"}


class _Assertion(Struct, rename="camel"):
    full_name: str = ""
    status: str = ""
    failure_messages: list[str] | None = None


class _File(Struct, rename="camel"):
    name: str = ""
    status: str = ""
    message: str | None = None
    assertion_results: list[_Assertion] = []


class _Written(Struct, rename="camel"):
    test_results: list[_File] = []


_written = msgspec.json.Decoder(_Written)


class JestParser:
    """An `OutputParser` that reads only the report."""

    def __init__(self, tell: TellProgress) -> None:
        """No progress is reported."""

    def stdout(self, line: str) -> Keep:
        return Keep.SHOWN

    def stderr(self, line: str) -> Keep:
        return Keep.SHOWN

    def report(self, written: bytes | None) -> BuildReport:
        return BuildReport(tests=None if written is None else read_jest(written))


def read_jest(json: bytes) -> tuple[Case, ...] | None:
    """The cases of a report; None if it is not one. A file that could not be loaded is a failed case of its own."""
    if sum(map(json.count, (b",", b"{", b"["))) > MAX_VALUES:
        return None
    try:
        files = _written.decode(json).test_results
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    room = ReportLimit(MAX_CASES)
    found = (case for file in files for case in _cases(file))
    return tuple(takewhile(lambda case: room.take(len(case.name) + len(case.suite) + len(case.output)), found))


def _cases(file: _File) -> Iterator[Case]:
    for case in file.assertion_results:
        output = "\n".join(case.failure_messages or ())[-MAX_OUTPUT_CHARS:]
        yield Case(case.full_name, _ENDINGS.get(case.status, "ignored"), file.name, output)
    if not file.assertion_results and file.status == "failed":
        yield Case("(the file itself)", "failed", file.name, (file.message or "")[-MAX_OUTPUT_CHARS:])


VITEST = Template(
    programs=("node_modules/.bin/vitest",),
    words=("run", "--reporter=json", "--outputFile={report}", "{args}"),
    makes_parser=JestParser,
    report="report.json",
)
JEST = Template(
    programs=("node_modules/.bin/jest",),
    words=("--ci", "--json", "--outputFile={report}", "{args}"),
    makes_parser=JestParser,
    report="report.json",
)

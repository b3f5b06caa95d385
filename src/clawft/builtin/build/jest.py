"""vitest and jest, by the JSON report that both write in the same form."""

import msgspec
from msgspec import Struct

from clawft.builtin.build.report import Case, Ending, Report
from clawft.builtin.build.run import Keep
from clawft.builtin.build.runner import TellProgress, Template

MAX_CASES = 50_000

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
    """A `Parser`: everything is in the report."""

    def __init__(self, tell: TellProgress) -> None:
        self._tell = tell

    def stdout(self, line: str) -> Keep:
        return Keep.SHOWN

    def stderr(self, line: str) -> Keep:
        return Keep.SHOWN

    def report(self, written: bytes | None) -> Report:
        return Report(tests=None if written is None else read_jest(written))


def read_jest(json: bytes) -> tuple[Case, ...] | None:
    """The cases of a report; None if it is not one. A file that could not be loaded is a failed case of its own."""
    try:
        files = _written.decode(json).test_results
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    cases = [case for file in files for case in (*map(_case, file.assertion_results), *_unloaded(file))]
    suites = [file.name for file in files for _ in (*file.assertion_results, *_unloaded(file))]
    return tuple(msgspec.structs.replace(case, suite=suite) for case, suite in zip(cases, suites, strict=True))[
        :MAX_CASES
    ]


def _case(told: _Assertion) -> Case:
    output = "\n".join(told.failure_messages or ())
    return Case(told.full_name, _ENDINGS.get(told.status, "ignored"), output=output)


def _unloaded(file: _File) -> list[Case]:
    if file.assertion_results or file.status != "failed":
        return []
    return [Case("(the file itself)", "failed", output=file.message or "")]


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

"""Parses pytest's JUnit XML: each test with its outcome, what it printed and its error."""

import re
from typing import TYPE_CHECKING, Any

from clawft.builtin.build.report import BuildReport, Case, Ending
from clawft.builtin.build.report_limit import MAX_OUTPUT_CHARS, ReportLimit
from clawft.builtin.build.run import Keep
from clawft.builtin.build.runner import TellProgress, Template

if TYPE_CHECKING:  # only where pytest runs
    from xml.parsers.expat import XMLParserType

MAX_CASES = 50_000
MAX_DEPTH = 100
"""Nesting of elements; a report has four levels."""
MAX_TAG_BYTES = 1024 * 1024
"""Size of a tag with its attributes. A tag is parsed in one step, which blocks for some 0.1 s at this size."""
PIECE_BYTES = 64 * 1024

_PERCENT = re.compile(r"\[ *(\d{1,3})%\]$")
_ENDINGS: dict[str, Ending] = {"failure": "failed", "error": "failed", "skipped": "ignored"}
_PRINTED = frozenset({"system-out", "system-err"})
_WITH_OUTPUT = ("-o", "junit_logging=out-err", "-o", "junit_log_passing_tests=false")


class PytestParser:
    """An `OutputParser`: progress from the printed dots, everything else from the report."""

    def __init__(self, tell: TellProgress) -> None:
        self._tell = tell
        self._told = 0

    def stdout(self, line: str) -> Keep:
        percent = _PERCENT.search(line)
        if percent and int(percent[1]) > self._told:
            self._told = int(percent[1])
            self._tell(self._told, 100, line.partition(" ")[0])
        return Keep.SHOWN

    def stderr(self, line: str) -> Keep:
        return Keep.SHOWN

    def report(self, written: bytes | None) -> BuildReport:
        return BuildReport(tests=None if written is None else read_junit(written))


def read_junit(xml: bytes) -> tuple[Case, ...] | None:
    """The cases of a JUnit report; None if the XML is incomplete, as after a run that was ended."""
    from xml.parsers import expat  # only where pytest runs

    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse_entity
    try:
        _read(parser, xml)
    except (expat.ExpatError, _Unfit):
        return None
    return tuple(reader.cases)


def _read(parser: "XMLParserType", xml: bytes) -> None:
    """Parse in pieces, so that other threads get their turn."""
    for begin in range(0, len(xml), PIECE_BYTES):
        piece = xml[begin : begin + PIECE_BYTES]
        parser.Parse(piece, False)
        if begin + len(piece) - parser.CurrentByteIndex > MAX_TAG_BYTES:
            raise _Unfit
    parser.Parse(b"", True)


class _Unfit(Exception):
    """Raised for entities, endless tags and endless depth: no report needs these, and they can exhaust a parser."""


def _refuse_entity(*_: Any) -> None:
    raise _Unfit


class _Words:
    """The end of a text that comes in parts. Cut only now and then, so that the cost of each part stays the same."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._size = 0

    def say(self, text: str) -> None:
        self._words.append(text)
        self._size += len(text) + 1
        if self._size > 2 * MAX_OUTPUT_CHARS:
            self._words = [self.all()]
            self._size = MAX_OUTPUT_CHARS

    def all(self) -> str:
        return "".join(self._words)[-MAX_OUTPUT_CHARS:]


class _Reader:
    """Collects the cases. The last outcome of a test counts: an error in its teardown makes a passed test fail."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self._attributes: dict[str, str] = {}
        self._ending: Ending = "passed"
        self._complaint, self._printed = _Words(), _Words()
        self._heard: _Words | None = None
        self._room = ReportLimit(MAX_CASES)
        self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _Unfit
        if name == "testcase":
            self._attributes, self._ending = attributes, "passed"
            self._complaint, self._printed = _Words(), _Words()
        elif name in _ENDINGS:
            self._ending = "failed" if "failed" in (self._ending, _ENDINGS[name]) else _ENDINGS[name]
            self._heard = self._complaint
            self._heard.say(attributes.get("message", "") + "\n")
        elif name in _PRINTED:
            self._heard = self._printed

    def end(self, name: str) -> None:
        self._depth -= 1
        if name in _ENDINGS or name in _PRINTED:
            self._heard = None
        elif name == "testcase":
            self._add_case(self._attributes.get("name", ""), self._attributes.get("classname", ""))

    def text(self, text: str) -> None:
        if self._heard is not None:
            self._heard.say(text)

    def _output(self) -> str:
        """The printed output, then the error, so that the error is kept if there is too much."""
        printed = self._printed.all().strip("\n") if self._ending == "failed" else ""
        return f"{printed}\n{self._complaint.all()}".strip("\n")[-MAX_OUTPUT_CHARS:]

    def _add_case(self, name: str, suite: str) -> None:
        output = self._output()
        if self._room.take(len(name) + len(suite) + len(output)):
            self.cases.append(Case(name, self._ending, suite, output))


PYTEST = Template(
    programs=(".venv/bin/python", "venv/bin/python", "python3", "python"),
    words=("-m", "pytest", "--junitxml={report}", *_WITH_OUTPUT, "--color=no", "{args}"),
    makes_parser=PytestParser,
    report="junit.xml",
)

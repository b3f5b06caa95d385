"""What builders write, read."""

import pytest

from clawft.builtin.build.jest import VITEST, read_jest
from clawft.builtin.build.junit import PYTEST, PytestParser, read_junit
from clawft.builtin.build.plain import MAKE, NPM, read_finding
from clawft.builtin.build.report import Case
from clawft.builtin.build.report_limit import MAX_OUTPUT_CHARS
from clawft.builtin.build.runner import RUNNERS, runner_named
from tests.builtin.build.trusting import Listener

VITEST_REPORT = b"""{"numTotalTests": 4, "success": false, "testResults": [
 {"assertionResults": [
   {"ancestorTitles": ["sum"], "fullName": "sum adds", "status": "passed", "title": "adds", "failureMessages": []},
   {"fullName": "sum fails", "status": "failed", "failureMessages": ["AssertionError: expected 1 to be 2"]},
   {"fullName": "sum later", "status": "skipped", "failureMessages": []},
   {"fullName": "sum never", "status": "todo", "failureMessages": null}],
  "status": "failed", "message": "", "name": "/w/a.test.js"},
 {"assertionResults": [], "status": "failed", "message": "Cannot find module './nope.js'", "name": "/w/b.test.js"}]}"""
"""As vitest 3 writes it, shortened."""


def test_vitest_and_jest_reports() -> None:
    assert read_jest(VITEST_REPORT) == (
        Case("sum adds", "passed", "/w/a.test.js"),
        Case("sum fails", "failed", "/w/a.test.js", "AssertionError: expected 1 to be 2"),
        Case("sum later", "ignored", "/w/a.test.js"),
        Case("sum never", "ignored", "/w/a.test.js"),
        Case("(the file itself)", "failed", "/w/b.test.js", "Cannot find module './nope.js'"),
    )
    assert read_jest(b"{") is None
    assert read_jest(b"[]") is None


def test_junit_reports() -> None:
    xml = """<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest">
    <testcase classname="t" name="ok" time="0.0" />
    <testcase classname="t" name="bad"><failure message="assert 1 == 2">line &gt; 1
line 2</failure></testcase>
    <testcase classname="t" name="skip"><skipped message="later">why</skipped></testcase>
    <testcase classname="t" name="torn"><failure message="a">b</failure><error message="c">d</error></testcase>
    <testcase classname="t" name="said"><failure message="a">b</failure><system-out>printed</system-out></testcase>
    <testcase classname="t" name="out"><system-out>printed</system-out></testcase></testsuite></testsuites>"""
    assert read_junit(xml.encode()) == (
        Case("ok", "passed", "t"),
        Case("bad", "failed", "t", "assert 1 == 2\nline > 1\nline 2"),
        Case("skip", "ignored", "t", "later\nwhy"),
        Case("torn", "failed", "t", "a\nbc\nd"),
        Case("said", "failed", "t", "printed\na\nb"),
        Case("out", "passed", "t"),
    )
    assert read_junit(xml.encode()[:-20]) is None


def test_a_report_without_a_bottom_is_not_read() -> None:
    assert read_junit(b"<a>" * 1_000 + b"</a>" * 1_000) is None


def test_a_report_with_an_endless_tag_is_not_read() -> None:
    """The reader takes a tag as a whole, in one go that holds up everybody: 300,000 attributes took 1.6 s."""
    many = b" ".join(b'a%d=""' % number for number in range(200_000))
    assert read_junit(b"<testsuite><testcase %s/></testsuite>" % many) is None
    long = "m" * 500_000
    told = f'<testsuite><testcase name="n"><failure message="{long}">{long}</failure></testcase></testsuite>'
    assert read_junit(told.encode()) == (Case("n", "failed", "", "m" * MAX_OUTPUT_CHARS),)


def test_a_report_with_entities_is_not_read() -> None:
    assert read_junit(b'<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite><testcase name="&a;"/></testsuite>') is None


def test_pytest_tells_how_far_it_is() -> None:
    listener = Listener()
    parser = PytestParser(listener.progress)
    for line in ("tests/a.py ..   [ 40%]", "tests/b.py F   [ 40%]", "E  [ 99%] no", "tests/b.py ...  [100%]"):
        parser.stdout(line)
    assert listener.heard == [(40, 100, "tests/a.py"), (100, 100, "tests/b.py")]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("src/main.c:3:5: error: expected ';'", ("error", "src/main.c", 3, 5, "", "expected ';'")),
        ("a.py:7: warning: unused [W1]", ("warning", "a.py", 7, 0, "", "unused [W1]")),
        ("x.h:1:1: fatal error: no such file", ("error", "x.h", 1, 1, "", "no such file")),
        ("p.py:3:1: error[rule-x]: wrong", ("error", "p.py", 3, 1, "rule-x", "wrong")),
        ("src/a.ts(3,5): error TS2322: not a number", ("error", "src/a.ts", 3, 5, "TS2322", "not a number")),
        ("o'b/a b.c:3:5: error: x", ("error", "o'b/a b.c", 3, 5, "", "x")),
        ("make: *** [Makefile:3: all] Error 1", ("error", "Makefile", 3, 0, "", "all: Error 1")),
        ("gmake[2]: *** [sub/Makefile:30: x] Error 2", ("error", "sub/Makefile", 30, 0, "", "x: Error 2")),
    ],
)
def test_findings_in_lines(line: str, told: tuple[str, str, int, int, str, str]) -> None:
    found = read_finding(line)
    assert found is not None
    assert (found.level, found.file, found.line, found.column, found.code, found.message) == told


SHOWN = (
    "> echo 'a.ts(3,5): error TS1: bad'; exit 2",
    "> tsc(1,1): error TS1: bad",
    "echo 'main.c:3:5: error: bad'",
    'printf "main.c:3:5: error: bad"',
)
"""What npm and make show of a command before they run it."""


@pytest.mark.parametrize(
    "line", ["error: no place", "12:30:01: error", "http://host:80: error: x", "make: done", "", *SHOWN]
)
def test_other_lines_are_no_findings(line: str) -> None:
    assert read_finding(line) is None


def test_templates_are_filled() -> None:
    words = PYTEST.argv("", ["a", "-q"], "/t/r.xml")
    assert (words[:3], words[-3:]) == (["-m", "pytest", "--junitxml=/t/r.xml"], ["--color=no", "a", "-q"])
    assert MAKE.argv("all", ["-j2"], "") == ["-j2", "--", "all"]
    assert NPM.argv("lint", ["{report}"], "/r") == ["run", "lint", "--", "{report}"]
    assert VITEST.argv("", [], "/r.json")[1:] == ["--reporter=json", "--outputFile=/r.json"]


def test_every_row_is_a_runner() -> None:
    for name in RUNNERS:
        runner = runner_named(name)
        assert runner.programs
        assert runner.parser(Listener().progress).report(None).diagnostics == ()

"""Results fit, whatever a builder says; and what had no room can be read."""

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.build import log, shortening
from clawft.builtin.build.child import BuilderExit
from clawft.builtin.build.log import Log, keep_log
from clawft.builtin.build.report import Case, Diagnostic, summed, unique
from clawft.builtin.build.run import RunRecord, output_of
from clawft.builtin.build.shortening import first_of, fit_diagnostics, fit_tests, last_of
from clawft.builtin.cargo.parser import CargoParser
from clawft.builtin.cargo.run import MAX_MESSAGES_BYTES
from clawft.builtin.process import ProcessStart
from clawft.errors import ExecutionFailed
from clawft.guard.result import DEFAULT_LIMIT
from tests.builtin.build.trusting import Listener
from tests.requirements import requirement


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 200))
def test_the_end_of_a_text_fits(text: str, limit: int) -> None:
    kept = last_of(text, limit)
    assert text.endswith(kept)
    assert len(msgspec.json.encode(kept)) <= max(limit, 2)
    if len(msgspec.json.encode(text)) <= limit:
        assert kept == text


def test_a_cut_text_begins_with_a_whole_line() -> None:
    assert last_of("x" * 100 + "\nsecond\nthird\n", 40) == "second\nthird\n"


def test_a_list_ends_where_it_does_not_fit() -> None:
    assert first_of(["a", "b", "c"], 9) == ("a", "b")


def test_failed_tests_come_first_and_none_is_forgotten_in_the_count() -> None:
    cases = [Case(f"ok{number}", "passed") for number in range(5000)]
    told = fit_tests(summed((*cases, Case("bad", "failed", output="x" * 100_000), Case("later", "ignored"))))
    assert (told.passed, told.failed, told.ignored) == (5000, 1, 1)
    assert [case.name for case in told.cases[:3]] == ["bad", "later", "ok0"]
    assert len(told.cases[0].output) <= shortening.MAX_CASE_OUTPUT_BYTES
    assert told.left_out == 5002 - len(told.cases) > 0


def test_the_same_finding_is_told_once_and_errors_come_first() -> None:
    warning, error = Diagnostic("warning", "w", file="a", line=1), Diagnostic("error", "e", file="b", line=2)
    assert unique([warning, error, warning, msgspec.structs.replace(error, notes=("again",))]) == (error, warning)


def test_a_finding_too_large_gives_up_its_details() -> None:
    small = Diagnostic("error", "m", "E1", "f", 3, notes=("n",))
    large = Diagnostic("error", "m" * 1000, "E1", "f", 3, notes=("n" * shortening.MAX_DIAGNOSTIC_BYTES,))
    bare = Diagnostic("error", "m" * shortening.MAX_MESSAGE_CHARS, "E1", "f", 3)
    assert fit_diagnostics((small, large, small)) == (small, bare, small)


@requirement("CARGO-03")
def test_all_parts_at_their_bounds_are_below_the_bound_of_a_result() -> None:
    """Else the result guard would leave out the structure."""
    heard = RunRecord(CargoParser(Listener().progress))
    heard.stdout("running 30000 tests")
    for number in range(30_000):
        heard.stdout(f"test case_{number} ... ok")
        heard.stdout("\x1b")
        heard.stderr(f"error: a finding {number}\n")
        heard.stderr(f"  --> src/file.rs:{number}:1")
    told, whole = output_of(ProcessStart([], 0, {}, 300), BuilderExit(1), heard)
    assert told.tests is not None
    assert told.tests.passed == 30_000
    assert told.tests.left_out
    assert len(told.diagnostics) > 50
    assert not whole
    assert len(msgspec.json.encode(told)) + MAX_MESSAGES_BYTES < DEFAULT_LIMIT


# ── the log ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_log_keeps_the_last_lines() -> None:
    kept = Log(limit=20)
    for number in range(10):
        kept.add(f"line {number}")
    assert kept.text() == "[the first 8 lines are left out]\nline 8\nline 9\n"


def test_logs_are_few_and_git_does_not_see_them(workspace: Path) -> None:
    kept = Log()
    kept.add("grüezi")
    paths = [keep_log(workspace, "cargo-build", kept) for _ in range(log.MAX_LOGS + 3)]
    folder = workspace / log.FOLDER
    assert (workspace / paths[-1]).read_text() == "grüezi\n"
    assert len([name for name in os.listdir(folder) if name.endswith(".log")]) == log.MAX_LOGS
    assert (folder / ".gitignore").read_text() == "*\n"


def test_a_log_never_leaves_the_workspace(workspace: Path, tmp_path: Path) -> None:
    (workspace / ".clawft").symlink_to(tmp_path)
    with pytest.raises(Exception, match="outside the workspace"):
        keep_log(workspace, "cargo-build", Log())
    (workspace / ".clawft").unlink()
    (workspace / ".clawft").write_text("in the way")
    with pytest.raises(ExecutionFailed):
        keep_log(workspace, "cargo-build", Log())

"""What cargo says, read: its messages, its tests, its stderr."""

import json
from typing import Any

import msgspec
import pytest

from clawft.builtin.build.report import Case, Diagnostic, Span, SuggestedEdit, Suggestion
from clawft.builtin.build.run import Keep
from clawft.builtin.cargo.family import CargoOutput
from clawft.builtin.cargo.libtest import MAX_FAILURE_BYTES, Libtest, Program, header
from clawft.builtin.cargo.messages import read_diagnostic, read_object
from clawft.builtin.cargo.parser import CargoParser
from clawft.builtin.cargo.stderr import CargoProgress
from tests.builtin.build.trusting import Listener
from tests.requirements import requirement


def span(**told: Any) -> dict[str, Any]:
    place = {"file_name": "src/lib.rs", "line_start": 6, "line_end": 6, "column_start": 9, "column_end": 15}
    return {**place, "is_primary": True, "label": None, "suggested_replacement": None, "expansion": None, **told}


def message(**told: Any) -> str:
    code = {"code": "unused_variables"}
    plain: dict[str, Any] = {"message": "unused variable: `x`", "level": "warning", "code": code, "children": []}
    return json.dumps({"reason": "compiler-message", "message": {**plain, "spans": [span()], **told}})


@requirement("CARGO-06", "F2-A04")
def test_a_finding_has_places_notes_and_edits() -> None:
    note: dict[str, Any] = {"message": "on by default", "level": "note", "code": None, "children": [], "spans": []}
    edit = span(suggested_replacement="_x", suggestion_applicability="MachineApplicable")
    fix = {"message": "prefix it", "level": "help", "code": None, "children": [], "spans": [edit]}
    maybe = {**fix, "spans": [edit, span(suggested_replacement="", suggestion_applicability="MaybeIncorrect")]}
    spans = [span(is_primary=False, line_start=1, label="defined here"), span(label="not used")]
    found = read_diagnostic(message(spans=spans, children=[note, fix, maybe]))
    assert found == Diagnostic(
        "warning",
        "unused variable: `x`",
        "unused_variables",
        "src/lib.rs",
        6,
        9,
        (
            Span("src/lib.rs", 6, 9, 6, 15, "not used", True),
            Span("src/lib.rs", 1, 9, 6, 15, "defined here"),
        ),
        ("on by default",),
        (
            Suggestion("prefix it", (SuggestedEdit("src/lib.rs", 6, 9, 6, 15, "_x"),), True),
            Suggestion(
                "prefix it", (SuggestedEdit("src/lib.rs", 6, 9, 6, 15, "_x"), SuggestedEdit("src/lib.rs", 6, 9, 6, 15))
            ),
        ),
    )  # fmt: skip - places as they are read


@requirement("CARGO-06")
def test_inside_a_macro_of_others_the_place_is_where_it_was_used() -> None:
    inside = span(file_name="/rustc/abc/library/std/src/macros.rs", line_start=140, expansion={"span": span()})
    found = read_diagnostic(message(spans=[inside]))
    assert found is not None
    assert (found.file, found.line) == ("src/lib.rs", 6)


@requirement("CARGO-06")
@pytest.mark.parametrize(
    "line",
    [
        message(message="2 warnings emitted", code=None, spans=[]),
        message(message="aborting due to 1 previous error", level="error", code=None, spans=[]),
        message(level="failure-note", code=None, spans=[]),
        '{"reason": "build-finished", "success": true}',
        '{"reason": "compiler-message"}',
        '{"reason": "compiler-message", "message": 3}',
        "{",
        "text",
        "",
    ],
)
def test_what_is_no_finding_is_none(line: str) -> None:
    assert read_diagnostic(line) is None


@requirement("CARGO-06", "F2-A04")
def test_every_json_line_is_a_message_and_others_are_not() -> None:
    parser = CargoParser(Listener().progress)
    finished = '{"reason": "build-finished", "success": true, "new": [1]}'
    lines = [finished, "no json", "{ neither", "[1]", message(), message()]
    kept = [parser.stdout(line) for line in lines]
    assert kept == [Keep.LOGGED, Keep.SHOWN, Keep.SHOWN, Keep.SHOWN, Keep.LOGGED, Keep.LOGGED]
    assert parser.messages[0] == {"reason": "build-finished", "success": True, "new": [1]}
    assert len(parser.messages) == 3
    assert len(parser.report(None).diagnostics) == 1
    assert read_object("{" * 100_000) is None


@requirement("CARGO-06")
def test_json_that_a_test_printed_is_no_message() -> None:
    parser = CargoParser(Listener().progress, json=False)
    assert parser.stdout('{"printed": "by a test"}') is Keep.SHOWN
    assert parser.messages == []


@requirement("CARGO-03", "test_cargo_output_serde_roundtrip")
def test_an_output_survives_json() -> None:
    plain = CargoOutput(success=False, exit_code=None, stdout="", stderr="x")
    found = Diagnostic("error", "m", spans=(Span("f", 1),))
    full = CargoOutput(success=True, exit_code=0, stdout="a", stderr="b", messages=({"k": [1]},), diagnostics=(found,))
    for output in (plain, full):
        assert msgspec.json.decode(msgspec.json.encode(output), type=CargoOutput) == output
    told = msgspec.to_builtins(plain)
    assert {name: told[name] for name in ("success", "exit_code", "stdout", "stderr", "messages")} == {
        "success": False,
        "exit_code": None,
        "stdout": "",
        "stderr": "x",
        "messages": (),
    }  # fmt: skip - one object


# ── tests ────────────────────────────────────────────────────────────────────────────────────────────────────────────

PRINTED = """
running 4 tests
test tests::good ... ok
test tests::later ... ignored, takes long
test tests::bad ... FAILED
test tests::panics - should panic ... ok

failures:

---- tests::bad stdout ----
seen before

thread 'tests::bad' (7) panicked at src/lib.rs:10:9:
sums are hard


failures:
    tests::bad

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 1 test
test src/lib.rs - add (line 3) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s
"""


def heard(text: str) -> Libtest:
    tests = Libtest()
    for line in text.splitlines():
        tests.hear(line)
    return tests


@requirement("CARGO-06")
def test_each_test_has_its_ending_and_a_failed_one_its_output() -> None:
    bad = "seen before\n\nthread 'tests::bad' (7) panicked at src/lib.rs:10:9:\nsums are hard"
    assert heard(PRINTED).cases([Program("src/lib.rs", "sums", "sums-374"), Program("doc sums")]) == (
        Case("tests::good", "passed", "src/lib.rs"),
        Case("tests::later", "ignored", "src/lib.rs", "takes long"),
        Case("tests::bad", "failed", "src/lib.rs", bad),
        Case("tests::panics", "passed", "src/lib.rs"),
        Case("src/lib.rs - add (line 3)", "passed", "doc sums"),
    )


@requirement("CARGO-06")
def test_programs_that_cannot_be_told_apart_are_not_named() -> None:
    cases = heard(PRINTED).cases([Program("only one")])
    assert cases is not None
    assert {case.suite for case in cases} == {""}


@requirement("CARGO-06")
def test_no_test_program_means_no_report() -> None:
    assert heard("hello\n").cases([]) is None
    assert heard("running 0 tests\n").cases([Program("src/main.rs")]) == ()


@requirement("CARGO-03")
def test_output_of_a_failed_test_has_a_bound() -> None:
    lines = "\n".join(f"line {number}" for number in range(MAX_FAILURE_BYTES))
    cases = heard(f"running 1 test\ntest a ... FAILED\n---- a stdout ----\n{lines}\nfailures:\n").cases([Program("")])
    assert cases is not None
    left_out, *kept = cases[0].output.splitlines()
    assert left_out.endswith("lines are left out]")
    assert kept[-1] == f"line {MAX_FAILURE_BYTES - 1}"
    assert len("\n".join(kept)) <= MAX_FAILURE_BYTES


@requirement("CARGO-06")
def test_headers_name_the_programs() -> None:
    lib = header("     Running unittests src/lib.rs (target/debug/deps/my_sums-95a1fd81)")
    assert lib == Program("src/lib.rs", "my_sums", "my_sums-95a1fd81")
    windows = header("     Running tests\\it.rs (target\\debug\\deps\\it-374f.exe)")
    assert windows == Program("tests\\it.rs", "it", "it-374f.exe")
    assert header("   Doc-tests sums") == Program("doc sums")
    assert header("   Compiling sums v0.1.0") is None


@requirement("CARGO-06")
def test_programs_of_the_same_file_are_told_apart() -> None:
    programs = [
        Program("src/lib.rs", "one", "one-1f2e"),
        Program("src/lib.rs", "two", "two-3a4b"),
        Program("src/main.rs", "two", "two-5c6d"),
        Program("tests/it.rs", "it", "it-7e8f"),
        Program("tests/it.rs", "it", "it-9a0b"),
    ]
    cases = heard("\nrunning 1 test\ntest a ... ok\n\n" * 5).cases(programs)
    assert cases is not None
    told = ["one src/lib.rs", "two src/lib.rs", "src/main.rs", "it-7e8f tests/it.rs", "it-9a0b tests/it.rs"]
    assert [case.suite for case in cases] == told


WRITTEN_PAST_THE_HARNESS = """
running 3 tests
test b ... ok
test fake ... FAILED
running 2 tests
test result: ok. 7 passed
test a ... ok
no newlinetest c ... FAILED

failures:

---- c stdout ----
test zzz ... FAILED
failures:
    zzz


failures:
    c

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.11s


running 1 test
test it ... ok
"""


@requirement("CARGO-06")
def test_what_a_test_writes_is_no_test() -> None:
    """One that failed is one that is named at last, whether its line could be read or not."""
    assert heard(WRITTEN_PAST_THE_HARNESS).cases([Program("src/lib.rs"), Program("src/main.rs")]) == (
        Case("b", "passed", "src/lib.rs"),
        Case("a", "passed", "src/lib.rs"),
        Case("c", "failed", "src/lib.rs", "test zzz ... FAILED"),
        Case("it", "passed", "src/main.rs"),
    )


@requirement("CARGO-06")
def test_a_program_that_breaks_off_keeps_what_it_said() -> None:
    cases = heard("\nrunning 2 tests\ntest a ... FAILED\n\nrunning 1 test\ntest b ... ok\n").cases([])
    assert cases == (Case("a", "failed"), Case("b", "passed"))


# ── stderr ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("CARGO-06")
def test_progress_only_grows_and_knows_the_total_from_the_bar() -> None:
    listener = Listener()
    parser = CargoParser(listener.progress)
    lines = [
        "   Compiling app v0.1.0 (/base/app)",
        "    Building [        ] 0/4: app(build.rs)      ",
        "   Compiling sums v0.1.0 (/base/sums)",
        "    Building [======> ] 3/4: app(bin)      ",
        "    Building [======> ] 3/4: app(bin)      ",
        "    Finished `dev` profile in 1 s",
    ]
    kept = [parser.stderr(line) for line in lines]
    assert listener.heard == [
        (1, None, "Compiling app v0.1.0"),
        (2, 4, "Compiling sums v0.1.0 (2/4)"),
        (3, 4, "Compiling sums v0.1.0 (3/4)"),
    ]
    assert [each is Keep.DROPPED for each in kept] == [False, True, False, True, True, False]


@requirement("CARGO-06")
def test_more_steps_than_the_bar_promised_are_no_contradiction() -> None:
    progress = CargoProgress(total=1)
    for name in "ab":
        progress.hear(f"   Compiling {name} v1")
    assert (progress.reached, progress.all) == (2, 2)


@requirement("CARGO-06")
def test_findings_for_people_count_where_there_is_no_json() -> None:
    parser = CargoParser(Listener().progress)
    for line in ("error[E0308]: mismatched types", " --> src/lib.rs:3:5", "  |", "error: could not compile `x`"):
        parser.stderr(line)
    place = Span("src/lib.rs", 3, 5, primary=True)
    told = Diagnostic("error", "mismatched types", "E0308", "src/lib.rs", 3, 5, (place,))
    assert parser.report(None).diagnostics == (told,)
    parser.stdout(message())
    assert [each.code for each in parser.report(None).diagnostics] == ["unused_variables"]


@requirement("CARGO-06")
@pytest.mark.parametrize(
    "line",
    [
        f"    Building [==> ] {'9' * 5000}/{'9' * 5000}: app",
        f"  --> src/lib.rs:{'9' * 5000}:1",
        "   Compiling x" + " (/" * 100_000,
        "     Running " + "x" * 100_000,
    ],
)
def test_no_line_is_too_much(line: str) -> None:
    listener = Listener()
    parser = CargoParser(listener.progress, json=False)
    parser.stderr("error: oh")
    parser.stderr(line)
    assert parser.report(None).diagnostics == ()
    assert all(len(message) < 1000 for _, _, message in listener.heard)


@requirement("CARGO-06")
def test_what_is_kept_of_a_run_has_a_bound() -> None:
    """A test that prints what looks like results, and a compiler that is another program."""
    fat = "x" * 500_000
    parser = CargoParser(Listener().progress)
    tests = CargoParser(Listener().progress, json=False)
    for number in range(100):
        parser.stdout(f'{{"reason": "{number}", "text": "{fat}"}}')
        parser.stdout(f'{{"reason": "compiler-message", "message": {{"level": "error", "message": "{number}{fat}"}}}}')
        tests.stdout(f"test {number}{fat} ... FAILED")
        tests.stdout(f"---- {number} stdout ----")
        tests.stdout(fat)
        tests.stdout("failures:")
        tests.stderr(f"error: {number}{fat}")
        tests.stderr(" --> src/lib.rs:1:1")
    tests.stdout("running 1 test")
    report = tests.report(None)
    assert len(parser.messages) == 1
    assert len(parser.report(None).diagnostics) < 10
    assert len(report.diagnostics) < 10
    assert len(report.tests or ()) < 10

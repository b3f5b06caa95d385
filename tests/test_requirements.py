"""The table of promises and the marks on tests agree, in both directions."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.requirements import AREAS, ROWS, TESTS, Proofs, UnknownRequirement, report, requirement, rows_of

ROOT = Path(__file__).parent.parent
REPORT_SECONDS = 60
PROMISED_ROWS = 349

pytestmark = requirement("QUAL-07")


def test_every_promise_is_here_once() -> None:
    assert len(ROWS) == PROMISED_ROWS
    assert all(text.strip() for text in ROWS.values())


def test_a_row_id_is_never_also_a_source_test_id() -> None:
    assert not ROWS.keys() & TESTS.keys()


def test_every_source_test_points_at_rows_that_exist() -> None:
    astray = {id: rows for id, rows in TESTS.items() if not rows or not ROWS.keys() >= set(rows)}
    assert astray == {}


def test_every_row_belongs_to_exactly_one_area() -> None:
    prefixes = [prefix for group in AREAS.values() for prefix in group]
    assert sorted(prefixes) == sorted({row.partition("-")[0] for row in ROWS})


@pytest.mark.parametrize(("id", "rows"), [("WIRE-01", ("WIRE-01",)), ("T-2.1", ("WIRE-02",))])
def test_both_kinds_of_id_lead_to_rows(id: str, rows: tuple[str, ...]) -> None:
    assert rows_of(id) == rows


@pytest.mark.parametrize(("wrong", "nearest"), [("WIRE-001", "WIRE-01"), ("GAURD-03", "GUARD-03"), ("t-7.8", "T-7.8")])
def test_an_unknown_id_fails_at_once_and_names_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(UnknownRequirement, match=rf"nearest is '{re.escape(nearest)}'"):
        requirement(wrong)


def test_a_mark_without_ids_is_refused() -> None:
    with pytest.raises(UnknownRequirement):
        requirement()


def test_the_mark_fits_functions_and_classes() -> None:
    @requirement("WIRE-01")
    def function() -> None: ...

    @requirement("WIRE-01", "T-2.1")
    class Group: ...

    assert [mark.args for mark in vars(function)["pytestmark"]] == [("WIRE-01",)]
    assert [mark.args for mark in vars(Group)["pytestmark"]] == [("WIRE-01", "T-2.1")]


def test_proofs_tell_strays_and_unmarked_tests_apart() -> None:
    proofs = Proofs()
    proofs.add("test_a", ["T-2.1"])
    proofs.add("test_b", ["NOPE-99"])
    proofs.add("test_c", [])
    assert proofs.tests == {"WIRE-02": ["test_a"]}
    assert [stray.partition(":")[0] for stray in proofs.strays] == ["test_b"]
    assert proofs.unmarked == ["test_c"]


def test_the_report_counts_per_area_and_lists_bare_rows() -> None:
    lines = list(report({"WIRE-01": ["test_a"]}, width=60))
    assert lines[0].split()[-3:] == ["1", "/", "23"]
    bare = [line.split()[0] for line in lines if line.startswith("  ")]
    assert len(bare) == PROMISED_ROWS - 1
    assert "WIRE-01" not in bare
    assert all(len(line) <= 60 for line in lines if line.startswith("  "))


@pytest.mark.slow  # collects every test there is
def test_no_mark_in_the_whole_suite_is_without_a_row() -> None:
    """A fresh collection, so that a bare `pytest.mark.requirement(...)`, which nobody checks, is found as well."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.requirements"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=REPORT_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(rf"^total +\d+ / {PROMISED_ROWS}$", ran.stdout, re.MULTILINE)

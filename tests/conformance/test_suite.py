"""How a run of the suite is read and judged."""

from pathlib import Path

import msgspec
import pytest

from tests.conformance import suite
from tests.conformance.legs import EXTENSION, LATER, LEGS, RUNS, SCORED, Leg, judge
from tests.conformance.suite import Check, Requirement
from tests.requirements import requirement

LIST = """\
# A comment that says server: and client:
server:
  - ping
  - tools-list

client:
  - initialize

not_scored:
  - scenario: tasks-lifecycle
    leg: server
    reason: extension
    note: >-
      run for visibility
  - scenario: auth/dpop
    leg: client
    reason: extension
"""
LEG = Leg("server 2026-07-28", "server-2026-07-28", SCORED, 2)


def write(folder: Path, name: str, *checks: Check) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "checks.json").write_bytes(msgspec.json.encode(checks))


@requirement("SHELL-22")
def test_the_list_of_the_suite_is_read_with_the_reason_for_what_does_not_count() -> None:
    assert suite.parse_requirements(LIST) == [
        Requirement("ping", "server"),
        Requirement("tools-list", "server"),
        Requirement("initialize", "client"),
        Requirement("tasks-lifecycle", "server", "extension"),
        Requirement("auth/dpop", "client", "extension"),
    ]


@requirement("SHELL-22")
def test_results_are_found_under_the_name_of_their_scenario(tmp_path: Path) -> None:
    passed = Check("one", "SUCCESS")
    write(tmp_path, "server-server-initialize-2026-08-01T10-11-12-123Z", passed)
    assert suite.read_results(tmp_path, "server") == {"server-initialize": [passed]}


@requirement("SHELL-22")
def test_results_of_a_client_scenario_lie_one_folder_deeper(tmp_path: Path) -> None:
    passed = Check("one", "SUCCESS")
    write(tmp_path, "auth/basic-cimd-2026-08-01T10-11-12-123Z", passed)
    assert suite.read_results(tmp_path, "client") == {"auth/basic-cimd": [passed]}


@requirement("SHELL-22")
def test_a_warning_is_shown_but_passes() -> None:
    results = {"ping": [Check("slow", "WARNING", "took long")], "tools-list": [Check("ok", "SUCCESS")]}
    verdict = judge(LEG, suite.parse_requirements(LIST), results)
    assert (verdict.ok, verdict.line) == (True, "server 2026-07-28: 2/2")
    assert verdict.warnings == ("ping slow: took long",)


@requirement("SHELL-22")
def test_a_failed_check_fails_its_scenario_and_is_named() -> None:
    results = {"ping": [Check("a", "SUCCESS"), Check("b", "FAILURE", "no answer")], "tools-list": []}
    verdict = judge(LEG, suite.parse_requirements(LIST), results)
    assert (verdict.ok, verdict.line, verdict.failures) == (
        False,
        "server 2026-07-28: 1/2",
        ("ping b: no answer",),
    )


@requirement("SHELL-22")
def test_a_scenario_that_never_ended_has_failed() -> None:
    verdict = judge(LEG, suite.parse_requirements(LIST), {"ping": []})
    assert (verdict.ok, verdict.passed) == (False, 1)


@requirement("SHELL-22")
def test_a_shorter_list_than_promised_is_not_a_pass() -> None:
    verdict = judge(LEG, [Requirement("ping", "server")], {"ping": []})
    assert (verdict.ok, verdict.line) == (False, "server 2026-07-28: 1/1")


@pytest.mark.slow  # needs the npm peers
@requirement("SHELL-22")
@pytest.mark.parametrize("leg", LEGS, ids=[leg.title for leg in LEGS])
def test_the_installed_suite_has_as_many_scenarios_as_each_leg_promises(leg: Leg) -> None:
    run = RUNS[leg.run]
    assert len([item for item in suite.requirements(run.revision) if leg.takes(item)]) == leg.count


@pytest.mark.slow  # needs the npm peers
def test_every_reason_for_not_counting_has_a_leg() -> None:
    for run in RUNS.values():
        reasons = {item.unscored for item in suite.requirements(run.revision) if item.side == run.side}
        assert reasons <= {*SCORED, *EXTENSION, *LATER}

"""The official suite against a real `weft gateway`, one test per line of its report."""

import asyncio
from collections.abc import Callable

import pytest

from tests.conformance import suite
from tests.conformance.legs import LEGS, RUNS, Leg, judge, perform
from tests.conformance.suite import Results
from tests.requirements import requirement

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCORED = [leg for leg in LEGS if leg.scored]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Results]:
    """What a run found; each run is made once, on first use."""
    found: dict[str, Results] = {}

    def of(name: str) -> Results:
        if name not in found:
            found[name] = asyncio.run(perform(RUNS[name], tmp_path_factory.mktemp(name)))
        return found[name]

    return of


@requirement("SHELL-22")
@pytest.mark.parametrize("leg", SCORED, ids=[leg.title for leg in SCORED])
def test_every_scored_scenario_passes(leg: Leg, results: Callable[[str], Results]) -> None:
    verdict = judge(leg, suite.requirements(RUNS[leg.run].revision), results(leg.run))
    assert verdict.failures == ()
    assert verdict.warnings == ()  # three scenarios about answers can only warn: without this they could not fail
    assert (verdict.passed, verdict.total) == (leg.count, leg.count)

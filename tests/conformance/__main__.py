"""`python -m tests.conformance`: run every leg, print one line each, end with 1 if a scored scenario failed."""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.conformance import suite
from tests.conformance.legs import LEGS, RUNS, Run, Verdict, judge, perform

OUT = Path("out") / "conformance"


def main() -> int:
    verdicts = [verdict for run in RUNS.values() for verdict in _verdicts(run)]
    for verdict in sorted(verdicts, key=lambda verdict: LEGS.index(verdict.leg)):
        _show(verdict)
    return int(any(verdict.leg.scored and not verdict.ok for verdict in verdicts))


def _verdicts(run: Run) -> Iterator[Verdict]:
    folder = OUT / run.name
    shutil.rmtree(folder, ignore_errors=True)  # the suite adds to a folder, and we count what is in it
    results = asyncio.run(perform(run, folder.absolute()))
    required = suite.requirements(run.revision)
    return (judge(leg, required, results) for leg in LEGS if leg.run == run.name)


def _show(verdict: Verdict) -> None:
    print(verdict.line)
    for failure in verdict.failures:
        print(f"  failed: {failure}")
    for warning in verdict.warnings:
        print(f"  warned: {warning}")


if __name__ == "__main__":
    sys.exit(main())

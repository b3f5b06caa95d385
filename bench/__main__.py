"""python -m bench [--quick] [--only STAGE …] [--json FILE]

Exit 0 if every budget holds, 1 if one does not, 2 for wrong usage. Needs Linux: CPU and memory of others are read from
its clocks and /proc.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.budget import Verdict, judge, read
from bench.contenders import LEGS, OURS
from bench.figures import Results
from bench.measure import (
    FULL,
    QUICK,
    Absent,
    Failures,
    Plan,
    Sample,
    modules_of_start,
    run_imports,
    run_leg,
    run_starts,
)
from bench.report import report

STAGES = (*LEGS, "start", "imports")


def measure(stages: Sequence[str], plan: Plan) -> Results:
    """One stage after the other; within a stage the contenders take turns."""
    began = time.perf_counter()
    samples: list[Sample] = []
    absent: list[Absent] = []
    for name in [name for name in LEGS if name in stages]:
        _say(f"{name} …")
        found, missing = run_leg(LEGS[name], plan)
        samples += found
        absent += missing
    results = Results(samples=samples, absent=absent)
    if "start" in stages:
        results = _with_starts(results, plan)
    if "imports" in stages:
        _say("imports …")
        results = msgspec.structs.replace(results, imports=run_imports(plan))
    return msgspec.structs.replace(results, seconds=time.perf_counter() - began)


def _with_starts(results: Results, plan: Plan) -> Results:
    _say("start …")
    starts, absent = run_starts(plan)
    modules: list[str] | None = None
    try:
        modules = modules_of_start()
    except Failures as failure:
        absent.append(Absent(OURS, "modules", str(failure)))
    return msgspec.structs.replace(results, starts=starts, modules=modules, absent=[*results.absent, *absent])


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _save(file: Path, results: Results, verdicts: Sequence[Verdict]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode({"results": results, "verdicts": verdicts})) + b"\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure against the budgets.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, under 40 s")
    parser.add_argument("--only", action="append", choices=STAGES, help="this stage alone (repeatable)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample and verdict there, too")
    asked = parser.parse_args()
    stages = asked.only or list(STAGES)
    results = measure(stages, QUICK if asked.quick else FULL)
    verdicts = judge(read(), results, stages)
    print(report(results, verdicts))
    if asked.json:
        _save(asked.json, results, verdicts)
    return 0 if all(verdict.ok for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

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
from msgspec.structs import replace

from bench.budget import Verdict, judge, read
from bench.contenders import CROWD, LEGS, OURS, STARTS
from bench.editing import STAGE as EDITING
from bench.editing import run_editing
from bench.measure import FULL, QUICK, Plan, run_leg
from bench.report import report
from bench.running import Failures
from bench.samples import Absent, Results, Sample, Start
from bench.searches import STAGE as SEARCH
from bench.searches import run_searches
from bench.starts import modules_of_start, run_crowd, run_imports, run_starts

STAGES = (*LEGS, *STARTS, CROWD.name, SEARCH, EDITING, "imports")


def measure(stages: Sequence[str], plan: Plan) -> Results:
    """One stage after the other; within a stage the contenders take turns."""
    began = time.perf_counter()
    samples: list[Sample] = []
    starts: list[Start] = []
    absent: list[Absent] = []
    for name in [name for name in LEGS if name in stages]:
        _say(f"{name} …")
        found, missing = run_leg(LEGS[name], plan)
        samples += found
        absent += _loudly(missing)
    for name in [name for name in STARTS if name in stages]:
        _say(f"{name} …")
        begun, missing = run_starts(name, plan)
        starts += begun
        absent += _loudly(missing)
    results = _with_others(Results(samples=samples, starts=starts, absent=absent), stages, plan)
    return replace(results, seconds=time.perf_counter() - began)


def _with_others(results: Results, stages: Sequence[str], plan: Plan) -> Results:
    if CROWD.name in stages:
        _say(f"{CROWD.name} …")
        crowd, missing = run_crowd(plan)
        results = replace(results, crowd=crowd, absent=[*results.absent, *_loudly(missing)])
    if EDITING in stages:
        _say(f"{EDITING} …")
        editing, missing = run_editing(plan)
        results = replace(results, editing=editing, absent=[*results.absent, *_loudly(missing)])
    if "start" in stages:
        results = _with_modules(results)
    if SEARCH in stages:
        _say(f"{SEARCH} …")
        results = replace(results, searches=run_searches(plan))
    if "imports" in stages:
        _say("imports …")
        results = replace(results, imports=run_imports(plan))
    return results


def _with_modules(results: Results) -> Results:
    try:
        return replace(results, modules=modules_of_start())
    except Failures as failure:
        return replace(results, absent=[*results.absent, *_loudly([Absent(OURS, "modules", str(failure))])])


def _loudly(missing: Sequence[Absent]) -> Sequence[Absent]:
    for each in missing:
        _say(f"  NOT MEASURED: {each.contender}: {each.reason}")
    return missing


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _save(file: Path, results: Results, verdicts: Sequence[Verdict]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode({"results": results, "verdicts": verdicts})) + b"\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure against the budgets.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, under 90 s")
    parser.add_argument("--only", action="append", choices=STAGES, help="this stage alone (repeatable)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample and verdict there, too")
    asked = parser.parse_args()
    stages = asked.only or list(STAGES)
    results = measure(stages, QUICK if asked.quick else FULL)
    verdicts = judge(read(), results, stages)
    print(report(results, verdicts))
    if asked.json:
        _save(asked.json, results, verdicts)
    return 0 if not any(verdict.fails for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

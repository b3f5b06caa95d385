"""Figures out of samples: pure, so that a table and a verdict never disagree about what was measured."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from msgspec import Struct

from bench.measure import Absent, ImportCost, Sample, Start


class Results(Struct, frozen=True):
    """Everything one run found out."""

    samples: Sequence[Sample] = ()
    starts: Sequence[Start] = ()
    imports: Sequence[ImportCost] = ()
    modules: Sequence[str] | None = None
    """None: not looked at."""
    absent: Sequence[Absent] = ()
    seconds: float = 0.0


class Spread(Struct, frozen=True):
    median: float
    least: float
    most: float


def spread(values: Iterable[float]) -> Spread | None:
    found = list(values)
    return Spread(median(found), min(found), max(found)) if found else None


def by_round(results: Results, stage: str, window: int, contender: str, measure: str) -> dict[int, float]:
    """One value per round."""
    rows: Sequence[Sample | Start]
    if stage == "start":
        rows = [row for row in results.starts if row.contender == contender]
    else:
        rows = [row for row in results.samples if (row.leg, row.window, row.contender) == (stage, window, contender)]
    return {row.round: float(getattr(row, measure)) for row in rows}


def share(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Spread | None:
    """How much of theirs we need, compared within each round, so that a busy minute counts for both or for none."""
    return spread(ours[number] / theirs[number] for number in ours.keys() & theirs.keys())

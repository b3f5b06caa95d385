"""Figures out of samples: pure, so that a table and a verdict never disagree about what was measured."""

from collections.abc import Iterable, Mapping
from statistics import median

from msgspec import Struct

from bench.samples import Results


class Spread(Struct, frozen=True):
    median: float
    least: float
    most: float


def spread(values: Iterable[float]) -> Spread | None:
    found = list(values)
    return Spread(median(found), min(found), max(found)) if found else None


def by_round(results: Results, stage: str, window: int, contender: str, measure: str) -> dict[int, float]:
    """One value per round."""
    rows = (*results.samples, *results.starts, *results.crowd, *results.searches, *results.editing)
    wanted = (stage, window, contender)
    return {row.round: float(getattr(row, measure)) for row in rows if (row.stage, row.window, row.contender) == wanted}


def share(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Spread | None:
    """How much of theirs ours is, compared within each round, so that a busy minute counts for both or for none."""
    return spread(ours[number] / theirs[number] for number in ours.keys() & theirs.keys() if theirs[number])

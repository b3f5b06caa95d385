"""Search: how fast the right one of a thousand tools is found, and how often."""

import time
from statistics import median, quantiles

from bench.contenders import OURS
from bench.measure import Plan
from bench.samples import Searched
from clawft.catalog.search import Index
from tests.catalog import recall

STAGE = "search"
FIRST = 5


def run_searches(plan: Plan) -> list[Searched]:
    """The labelled set of the tests, once per round."""
    entries = recall.entries()
    return [_searched(number, entries) for number in range(plan.rounds)]


def _searched(number: int, entries: tuple[recall.CatalogEntry, ...]) -> Searched:
    began = time.perf_counter()
    index = Index(entries)
    built = time.perf_counter() - began
    took: list[float] = []
    hits = 0
    for query, wanted in recall.queries():
        began = time.perf_counter()
        found = index.search(query, FIRST)
        took.append((time.perf_counter() - began) * 1000)
        hits += bool(wanted & {recall.name_of(entry) for entry in found})
    p99 = quantiles(took, n=100)[-1]
    return Searched(OURS, STAGE, number, built * 1000, median(took), p99, hits / len(took), len(entries))

"""Promises and their tests, tied together.

A test says what it proves: `@requirement("GUARD-03", "T-7.8")`, with row ids or the test ids of the sources. An
unknown id fails at collection. `python -m tests.requirements` shows which promises have a test and which are bare;
`python -m tests.requirements WIRE-05` shows one promise and its tests.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from tests.requirement_rows import AREAS, ROWS, TESTS

__all__ = ["AREAS", "ROWS", "TESTS", "Proofs", "UnknownRequirement", "collect", "report", "requirement", "rows_of"]

MARK = "requirement"
WIDTH_OF_A_PIPE = 160
ENOUGH_TO_NAME = 0.5
"""How alike an unknown id and a known one must be before we call it a misspelling."""


class UnknownRequirement(LookupError):
    """A mark names neither a row nor a source test."""


def rows_of(id: str) -> tuple[str, ...]:
    """The rows an id stands for: itself, or those its source test covers."""
    if id in ROWS:
        return (id,)
    if id in TESTS:
        return TESTS[id]
    raise UnknownRequirement(f"no requirement {id!r}{_nearest(id)}; rows live in tests/requirement_rows.py")


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test function or class with the promises it proves."""
    if not ids:
        raise UnknownRequirement("requirement() without an id proves nothing; name at least one row")
    for id in ids:
        rows_of(id)
    return pytest.mark.requirement(*ids)


def _nearest(id: str) -> str:
    near = difflib.get_close_matches(id, [*ROWS, *TESTS], n=1, cutoff=ENOUGH_TO_NAME)
    return f", nearest is {near[0]!r}" if near else ""


# ── what the collected tests prove ───────────────────────────────────────────────────────────────────────────────────


@dataclass
class Proofs:
    """Row → tests that prove it, with what does not fit: marks of no row, tests with no mark."""

    tests: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    strays: list[str] = field(default_factory=list[str])
    unmarked: list[str] = field(default_factory=list[str])

    def add(self, test: str, ids: Sequence[str]) -> None:
        if not ids:
            self.unmarked.append(test)
        for id in ids:
            self._add_one(test, id)

    def _add_one(self, test: str, id: str) -> None:
        try:
            rows = rows_of(id)
        except UnknownRequirement as unknown:
            self.strays.append(f"{test}: {unknown}")
            return
        for row in rows:
            self.tests.setdefault(row, []).append(test)


class _Collector:
    """A pytest plugin that reads the marks of every collected test."""

    def __init__(self) -> None:
        self.proofs = Proofs()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self.proofs.add(item.nodeid, _ids_on(item))


def _ids_on(item: pytest.Item) -> list[str]:
    return [str(id) for mark in item.iter_markers(MARK) for id in mark.args]


class CollectionFailed(Exception):
    """pytest could not collect; its own words are the message."""


def collect(paths: Iterable[str] = ()) -> Proofs:
    """Let pytest collect (not run) the tests and read their real marks."""
    collector = _Collector()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        ended = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *paths], plugins=[collector])
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise CollectionFailed(said.getvalue())
    return collector.proofs


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────────────


def report(tests: Mapping[str, Sequence[str]], width: int) -> Iterator[str]:
    """Per area rows with tests and total, then every bare row, in lines of at most `width`."""
    for area, prefixes in AREAS.items():
        yield _share(area, [row for row in ROWS if row.partition("-")[0] in prefixes], tests)
    yield _share("total", list(ROWS), tests)
    bare = [row for row in ROWS if row not in tests]
    if bare:
        yield f"\nrows without a test ({len(bare)}):"
        yield from (_cut(f"  {row:<9} {ROWS[row]}", width) for row in bare)


def _share(title: str, rows: Sequence[str], tests: Mapping[str, Sequence[str]]) -> str:
    proved = sum(row in tests for row in rows)
    return f"{title:<58} {proved:>3} / {len(rows):>3}"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"


def _one(id: str, proofs: Proofs) -> Iterator[str]:
    for row in rows_of(id):
        yield f"{row}  {ROWS[row]}"
        yield from (f"  {test}" for test in proofs.tests.get(row, ["(no test yet)"]))


def main(ids: Sequence[str]) -> int:
    try:
        for id in ids:
            rows_of(id)
        proofs = collect()
    except (UnknownRequirement, CollectionFailed) as wrong:
        print(wrong, file=sys.stderr)
        return 1
    if ids:
        print(*(line for id in ids for line in _one(id, proofs)), sep="\n")
        return 0
    print(*report(proofs.tests, shutil.get_terminal_size((WIDTH_OF_A_PIPE, 0)).columns), sep="\n")
    if proofs.unmarked:
        print(f"\ntests without a row ({len(proofs.unmarked)}):", *proofs.unmarked, sep="\n  ")
    if proofs.strays:
        print(f"\nmarks without a row ({len(proofs.strays)}):", *proofs.strays, sep="\n  ", file=sys.stderr)
    return 1 if proofs.strays else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The matrix as a table: which tests there are for which cells, as README.md shows it."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.matrix.cells import PAIRS, TRANSPORTS, Cell

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BEGIN, END = "<!-- matrix: made by `make matrix ARGS=--write` -->", "<!-- end of the matrix -->"
CARRIED, REFUSED, BROKEN, NOTHING = "●", "○", "✗", "·"
_MARKED = re.compile(r"tests\.matrix\.cells|mark\.matrix")


class CollectionFailed(Exception):
    """pytest could not collect; its own words are the message."""


class Collected:
    """A pytest plugin: the cell of every test that has one."""

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            mark = item.get_closest_marker("matrix")
            if mark is not None:
                self.cells[item.nodeid] = Cell(**mark.kwargs)


def marked_files() -> list[str]:
    """Only these are collected: that takes a second, all tests would take many."""
    return [
        str(file.relative_to(ROOT))
        for file in sorted(ROOT.glob("tests/**/test_*.py"))
        if "node_modules" not in file.parts and _MARKED.search(file.read_text())
    ]


def collect() -> dict[str, Cell]:
    """Test → cell."""
    collected = Collected()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        ended = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *marked_files()], plugins=[collected])
    if ended is not pytest.ExitCode.OK:
        raise CollectionFailed(said.getvalue())
    return collected.cells


def table(cells: Iterable[Cell], broken: frozenset[Cell] = frozenset()) -> Iterator[str]:
    """Lines of Markdown, in the order in which kinds were met."""
    found = {(cell.kind, cell.agent, cell.server, cell.transport): cell for cell in cells}
    yield "| | " + " | ".join(f"{agent} → {server}" for agent, server in PAIRS) + " |"
    yield "|---" * (len(PAIRS) + 1) + "|"
    for kind in dict.fromkeys(key[0] for key in found):
        shown = (
            " ".join(_shown(found.get((kind, agent, server, over)), broken) for over in TRANSPORTS)
            for agent, server in PAIRS
        )
        yield f"| {kind} | " + " | ".join(shown) + " |"


def _shown(cell: Cell | None, broken: frozenset[Cell]) -> str:
    if cell is None:
        return NOTHING
    if cell in broken:
        return BROKEN
    return CARRIED if cell.outcome == "carried" else REFUSED


def written(readme: str) -> str:
    """The table as README.md has it."""
    return readme.partition(BEGIN)[2].partition(END)[0].strip()


def rewritten(readme: str, lines: Sequence[str]) -> str:
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{rest.partition(END)[2]}"


def outcomes(cells: Mapping[str, Cell], failed: Iterable[str]) -> frozenset[Cell]:
    return frozenset(cells[test] for test in failed if test in cells)

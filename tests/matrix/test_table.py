"""The matrix in README.md is the one that the tests make."""

import subprocess
import sys

import pytest

from tests.matrix.cells import PAIRS, TRANSPORTS, Cell
from tests.matrix.table import BROKEN, CARRIED, NOTHING, README, REFUSED, ROOT, rewritten, table, written
from tests.requirements import requirement

COLLECT_S = 60

SHOW = "from tests.matrix.table import collect, table; print(*table(collect().values()), sep='\\n')"


@requirement("QUAL-07")
@pytest.mark.slow
def test_the_readme_shows_the_cells_that_have_a_test() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=ROOT, capture_output=True, text=True, timeout=COLLECT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = written(README.read_text())
    assert shown == done.stdout.strip(), "python -m tests.matrix --write puts the table of the tests into README.md"


@requirement("QUAL-07")
def test_a_table_shows_every_outcome() -> None:
    carried = Cell("k", "handshake", "handshake", "stdio")
    refused = Cell("k", "handshake", "stateless", "http", "refused")
    broken = Cell("k", "stateless", "stateless", "http")
    row = list(table([carried, refused, broken], frozenset({broken})))[-1]
    assert row == (f"| k | {CARRIED} {NOTHING} | {NOTHING} {REFUSED} | {NOTHING} {NOTHING} | {NOTHING} {BROKEN} |")
    assert (len(PAIRS), len(TRANSPORTS)) == (4, 2)


@requirement("QUAL-07")
def test_a_changed_table_replaces_the_old_one_and_nothing_else() -> None:
    readme = rewritten(README.read_text(), ["| new |"])
    assert written(readme) == "| new |"
    assert rewritten(readme, written(README.read_text()).splitlines()) == README.read_text()

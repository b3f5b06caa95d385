"""usage: python -m tests.matrix [--write]

Runs every test of the matrix and prints the table, with ✗ where a test failed. `--write` runs nothing and puts the
table into README.md; a test fails until that is done.
"""

import sys

import pytest

from tests.matrix.table import (
    BROKEN,
    CARRIED,
    NOTHING,
    README,
    REFUSED,
    collect,
    marked_files,
    outcomes,
    rewritten,
    table,
)


class Failed:
    def __init__(self) -> None:
        self.tests: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests.append(report.nodeid)


def main(options: list[str]) -> int:
    cells = collect()
    if "--write" in options:
        README.write_text(rewritten(README.read_text(), list(table(cells.values()))))
        print("README.md has the table as it is now")
        return 0
    failed = Failed()
    ended = pytest.main(["-q", "-n", "2", "-m", "matrix", *options, *marked_files()], plugins=[failed])
    print(*table(cells.values(), outcomes(cells, failed.tests)), sep="\n")
    print(
        f"\n{CARRIED} carried  {REFUSED} refused, with a clear answer  {NOTHING} does not exist there  {BROKEN} failed"
    )
    print("each cell: over stdio, over HTTP; agent → server")
    return int(ended)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A command in a cell is a process like any other, also where the cell has process numbers of its own."""

import signal
import sys

import pytest

from tests.requirements import requirement
from tests.sandbox.held import LEVELS, House

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

ENDS_ITSELF = """
import os, sys
os.kill(os.getpid(), int(sys.argv[1]))
print("is still here")
"""

LEAVES_AN_ORPHAN = """
import os
reads, writes = os.pipe()
child = os.fork()
if child == 0:
    orphan = os.fork()
    if orphan:
        os.write(writes, str(orphan).encode())
    os._exit(0)
os.waitpid(child, 0)
orphan = int(os.read(reads, 20))
try:
    while True:
        os.kill(orphan, 0)
        os.sched_yield()
except ProcessLookupError:
    print("is buried")
"""


@requirement("POOL-21", "POOL-22")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("level", LEVELS)
def test_what_ends_any_other_process_ends_a_command(house: House, level: str, number: signal.Signals) -> None:
    ran = house.run(level, [sys.executable, "-c", ENDS_ITSELF, str(int(number))])
    assert (ran.returncode, ran.stdout) == (128 + number, ""), ran.stderr


@requirement("POOL-21", "POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_process_whose_parent_is_gone_is_buried(house: House, level: str) -> None:
    """As long as it is not, it counts among the processes a server may have."""
    ran = house.run(level, [sys.executable, "-c", LEAVES_AN_ORPHAN])
    assert ran.stdout == "is buried\n", ran.stderr

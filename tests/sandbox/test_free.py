"""A server that nothing holds is what it would be without us, but that it leaves nobody behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clawft.sandbox.cell import CellStart
from tests.requirements import requirement
from tests.sandbox.held import LEVELS, RUN_S, House

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]

SEES = ("SigIgn", "SigBlk", "CapEff", "CapBnd", "Umask")
"""What one program leaves to the next, as the kernel tells it."""


def ran(how: CellStart) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        how.argv,
        env=dict(how.env),
        pass_fds=how.descriptors,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )


def started(house: House, level: str, argv: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    own_pipes = level == "free"
    return ran(
        house.cell(level, "auto", argv, house.workspace).start(argv, str(house.workspace), env, own_pipes=own_pipes)
    )


def seen(told: str, names: tuple[str, ...] = SEES) -> list[str]:
    return [line for line in told.splitlines() if line.partition(":")[0] in names]


@requirement("POOL-22")
def test_it_is_left_as_it_would_be(house: House) -> None:
    argv = ["/bin/cat", "/proc/self/status"]
    plain = subprocess.run(argv, capture_output=True, text=True, timeout=RUN_S, check=True)
    tended = started(house, "free", argv, {})
    assert seen(tended.stdout) == seen(plain.stdout)
    assert len(seen(tended.stdout)) == len(SEES)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_broken_pipe_ends_what_writes_to_it_in_a_cell_too(house: House, level: str) -> None:
    argv = ["/bin/cat", "/proc/self/status"]
    plain = subprocess.run(argv, capture_output=True, text=True, timeout=RUN_S, check=True)
    assert seen(started(house, level, argv, {}).stdout, ("SigIgn",)) == seen(plain.stdout, ("SigIgn",))


@requirement("POOL-22")
def test_it_gets_its_variables_and_says_how_it_ended(house: House, tmp_path: Path) -> None:
    """One that steers the loader is for it alone: what starts it has loaded by then."""
    code = "import os, sys; print(os.environ['LD_DEBUG_OUTPUT'], os.environ['PLAIN'])"
    env = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "loaded"), "PLAIN": "yes"}
    found = started(house, "free", [sys.executable, "-c", f"{code}; sys.exit(7)"], env)
    assert found.returncode == 7, found.stderr
    assert found.stdout.split() == [env["LD_DEBUG_OUTPUT"], "yes"]
    assert len(list(tmp_path.glob("loaded.*"))) == 1
    code = "import os; print(sorted(os.listdir('/proc/self/fd')), flush=True); os.kill(os.getpid(), 9)"
    killed = started(house, "free", [sys.executable, "-c", code], {})
    assert (killed.returncode, killed.stdout) == (128 + 9, "['0', '1', '2', '3']\n")


@requirement("POOL-21")
def test_nobody_is_ended_but_what_it_started(house: House) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as other:
        code = f"import os; os.setpgid(0, 0); print(os.getpgid({other.pid}))"
        assert started(house, "free", [sys.executable, "-c", code], {}).returncode == 0
        assert other.poll() is None
        os.kill(other.pid, 9)

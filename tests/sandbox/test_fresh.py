"""A machine without bubblewrap, with one that is forbidden, with nothing at all: servers run, and one line says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from clawft.sandbox import landlock
from tests.requirements import requirement
from tests.sandbox.held import programs
from tests.servers.weft import environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]

PATIENCE_S = 90.0
HONEST = str(Path(__file__).parents[1] / "servers" / "honest.py")
FORBIDDEN = "bwrap: setting up uid map: Permission denied"
WITHOUT_LANDLOCK = """
import ctypes, os, struct, sys
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (6, 0, 0, 0x00050026), (6, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("=HBBI", *step) for step in steps)
class Filter(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("steps", ctypes.c_char_p))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, ctypes.byref(Filter(len(steps), code)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A kernel that does not know the call, as old ones do."""

needs_landlock = pytest.mark.skipif(
    sys.platform != "linux" or not landlock.abi(), reason="no Landlock in this kernel: this is NOT tested"
)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with the programs of this machine but bubblewrap, to be the PATH."""
    return programs(tmp_path / "programs", "bwrap")


def weft(folder: Path, machine: Path, *words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    env = {**environment(folder), "HOME": str(folder), "PATH": str(machine)}
    argv = [*before, sys.executable, "-m", "clawft", *words]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def status(folder: Path, machine: Path, sandbox: str = "auto", before: tuple[str, ...] = ()) -> dict[str, str]:
    servers = {"one": {"command": sys.executable, "args": ["-X", f"folder={folder}", HONEST], "sandbox": sandbox}}
    config = json.dumps({"mcpServers": servers})
    done = weft(folder, machine, "servers", "status", "one", "--json", "--mcp-config", config, before=before)
    return json.loads(done.stdout)


@requirement("POOL-22")
@needs_landlock
def test_without_bubblewrap_landlock_holds_and_the_line_says_how_to_get_it(tmp_path: Path, machine: Path) -> None:
    found = status(tmp_path, machine)
    assert found["state"] == "connected", found
    assert found["sandbox"].startswith("landlock(")
    assert "bubblewrap is not installed; run: " in found["sandbox"] or not (machine / "apt-get").exists()
    assert found["sandbox"].count("\n") == 0
    assert status(tmp_path, machine, "require")["state"] == "connected"


@requirement("POOL-22", "POOL-21")
@needs_landlock
def test_without_namespaces_servers_run_and_end_with_us_all_the_same(tmp_path: Path, machine: Path) -> None:
    """As in a container. The launcher stays with its server there, and goes with it."""
    (machine / "unshare").unlink(missing_ok=True)
    found = status(tmp_path, machine)
    assert (found["state"], found["sandbox"][:9]) == ("connected", "landlock("), found
    assert not [
        each for each in psutil.process_iter() if HONEST in _words_of(each) and str(tmp_path) in _words_of(each)
    ]


def _words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@requirement("POOL-22")
@needs_landlock
def test_a_bubblewrap_that_is_forbidden_is_named_with_its_own_words(tmp_path: Path, machine: Path) -> None:
    (machine / "bwrap").write_text(f"#!/bin/sh\necho '{FORBIDDEN}' >&2\nexit 1\n")
    (machine / "bwrap").chmod(0o755)
    found = status(tmp_path, machine)
    assert (found["state"], found["sandbox"][:9]) == ("connected", "landlock("), found
    assert FORBIDDEN in found["sandbox"]
    doctor = weft(tmp_path, machine, "doctor", "--json")
    assert FORBIDDEN in doctor.stdout


@requirement("POOL-22")
@pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the number of the call is that of x86-64: this is NOT tested"
)
def test_with_nothing_a_server_runs_and_the_line_says_so_but_one_that_requires_it_does_not(
    tmp_path: Path, machine: Path
) -> None:
    before = (sys.executable, "-c", WITHOUT_LANDLOCK)
    found = status(tmp_path, machine, before=before)
    assert found["state"] == "connected", found
    assert found["sandbox"].startswith("none (bubblewrap is not installed; ")
    assert found["sandbox"].endswith("and the kernel has no Landlock)")
    refused = status(tmp_path, machine, "require", before)
    assert refused["state"] != "connected"
    assert "its required sandbox is not available: bubblewrap is not installed" in refused["error"], refused

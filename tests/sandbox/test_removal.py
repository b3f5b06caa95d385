"""Folders that strangers filled are gone when we are done with them."""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from clawft.sandbox.removal import remove
from tests.requirements import requirement

if sys.platform == "win32":
    pytest.skip("paths there end after 260 characters", allow_module_level=True)
import resource

FOLDERS = 3_000


@pytest.fixture(params=[1_024, 4 * FOLDERS], ids=["few files", "many files"])
def open_files(request: pytest.FixtureRequest) -> Generator[None]:
    """How many may be open: Python opens every folder on its way down."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(request.param, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def top(tmp_path: Path) -> Generator[Path]:
    """Gone in the end, whatever the test says: pytest could not remove it either, and fails for that."""
    folder = tmp_path / "top"
    folder.mkdir()
    yield folder
    subprocess.run(["/bin/rm", "-rf", folder], check=True)


@requirement("QUAL-12")
@pytest.mark.usefixtures("open_files")
def test_a_folder_is_removed_however_deep_it_is(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By no program of the folder we happen to be in, where strangers may write."""
    (tmp_path / "rm").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran")
    (tmp_path / "rm").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    here = os.open(top, os.O_RDONLY)
    for _ in range(FOLDERS):
        os.mkdir("deeper", dir_fd=here)
        below = os.open("deeper", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    remove(top)
    assert not top.exists()
    assert not (tmp_path / "ran").exists()


LOCKS = "import os, sys; os.makedirs(sys.argv[1] + '/locked/inner'); os.chmod(sys.argv[1] + '/locked', 0)"
REMOVES = "import sys; from clawft.sandbox.removal import remove; remove(sys.argv[1])"


@requirement("QUAL-12")
def test_a_folder_is_removed_though_parts_of_it_were_locked(top: Path, tmp_path: Path) -> None:
    """And what a link in it leads to stays as it is. (Root opens every folder, unless it gives that power away.)"""
    plain = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (top / "link").symlink_to(outside)
    for code in (LOCKS, REMOVES):
        subprocess.run([*plain, sys.executable, "-c", code, top], check=True)
    assert not top.exists()
    assert outside.stat().st_mode & 0o777 == 0o500

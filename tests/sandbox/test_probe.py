"""What this machine has: one trial of everything tells the same as a trial of each."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.builtin import families
from clawft.sandbox import landlock
from clawft.sandbox.probe import one_by_one, outside_workspace, probe
from clawft.store.memory import MemoryStore
from clawft.upstream.cells import Cells
from tests.requirements import requirement
from tests.sandbox.held import means


@requirement("POOL-22")
def test_one_trial_of_everything_finds_what_a_trial_of_each_finds() -> None:
    assert one_by_one(means("bwrap").bwrap) == means("bwrap")


@requirement("POOL-22")
def test_where_one_of_them_does_not_work_the_others_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = means("bwrap")
    broken = tmp_path / "prlimit"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert shutil.which("prlimit") == str(broken)
    found = probe()
    assert (found.level, found.limits, found.leash) == ("bwrap", (), whole.leash)


@requirement("POOL-22")
@pytest.mark.parametrize(("inside", "level"), [(True, "none"), (False, "landlock")])
def test_inside_a_sandbox_of_landlock_which_does_not_list_the_root_none_of_our_own_is_built(
    inside: bool, level: str
) -> None:
    """Its rules would leave out every name that cannot be listed, Python's among them, and no server would start."""
    abi = str(means("landlock").abi)
    launcher = [sys.executable, "-I", "-S", landlock.__file__, "--rule", "read", "/", "--abi", abi, "--"]
    code = "from clawft.sandbox.probe import probe; found = probe(bubblewrap=False); print(found.level, found.reason)"
    argv = [*(launcher if inside else []), sys.executable, "-c", code]
    ran = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    found, _, reason = ran.stdout.partition(" ")
    assert found == level
    assert ("does not list /" in reason) is inside


@requirement("POOL-22")
@pytest.mark.parametrize("folder", [".", "", "here", "{}/node_modules/.bin"])
def test_programs_of_the_folder_we_are_in_hold_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """The attack: a repository with a `bwrap` of its own, and a PATH that begins where the user happens to be."""
    whole, ran = means("bwrap"), tmp_path / "ran"
    folder = folder.format(tmp_path)
    (tmp_path / folder).mkdir(exist_ok=True, parents=True)
    for name in ("bwrap", "prlimit", "setpriv", "unshare", "true"):
        program = tmp_path / folder / name
        program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert probe() == one_by_one(whole.bwrap) == whole
    assert not ran.exists()


def _a_family(workspace: Path) -> None:
    families(workspace, lambda agent, namespace: MemoryStore(), only=["git"])


def _a_server(workspace: Path) -> None:
    Cells(workspace.parent / "state", workspace)


@requirement("POOL-22")
@pytest.mark.parametrize("works", [_a_family, _a_server])
def test_nor_do_those_of_a_workspace_that_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: Callable[[Path], None]
) -> None:
    """As clients start us: in the root or a home folder, with the workspace as an option."""
    programs = tmp_path / "project" / ".venv" / "bin"
    for folder in (programs, tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    for folder in ("/", str(tmp_path / "elsewhere")):
        monkeypatch.chdir(folder)
        assert outside_workspace([str(programs)]) == [str(programs)]
    works(tmp_path / "project")
    for folder in ("/", str(tmp_path / "elsewhere")):
        monkeypatch.chdir(folder)
        assert outside_workspace([str(programs), "/usr/bin"]) == ["/usr/bin"]


def test_a_workspace_that_holds_the_home_folder_holds_programs_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    own, project = str(tmp_path / "user" / "bin"), tmp_path / "user" / "project"
    for workspace in ("/", str(tmp_path), str(tmp_path / "user")):
        assert outside_workspace([own, "bin", ""], workspace) == [own]
    assert outside_workspace([own, f"{project}/bin"], str(project)) == [own]

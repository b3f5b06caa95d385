"""What this machine has: one trial of everything tells the same as a trial of each."""

import os
import shutil
from pathlib import Path

import pytest

from clawft.sandbox.probe import one_by_one, probe
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

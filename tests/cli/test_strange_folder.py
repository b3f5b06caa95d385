"""`weft` started in a folder of somebody else, which has nothing to say about what is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time


@requirement("GIT-12", "POOL-22")
def test_no_program_of_the_folder_is_run_in_place_of_ours(run: Any, workspace: Path) -> None:
    """The attack: a PATH that names a folder of the project, as `npm run` has one."""
    subprocess.run(["git", "init", "--quiet", workspace], check=True)
    place, ran = workspace / "node_modules" / ".bin", workspace / "ran"
    place.mkdir(parents=True)
    for name in ("git", "bwrap", "prlimit", "setpriv", "unshare", "true"):
        (place / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (place / name).chmod(0o755)
    path = f"{place}{os.pathsep}{os.environ['PATH']}"
    assert run("tools", "call", "git__status", "repo_path=.", PATH=path).code == 0
    assert run("tools", "call", "shell__exec", "command=/bin/ls", PATH=path).code == 0
    assert not ran.exists()

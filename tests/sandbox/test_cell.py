"""How a command is started by each means, and what is said where there is none."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from clawft.errors import SpawnFailed
from clawft.sandbox.bounds import FoldersAround, SandboxTable, bounds_of
from clawft.sandbox.cell import Cell
from clawft.sandbox.probe import Means
from tests.requirements import requirement

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

AROUND = FoldersAround(
    home="/home/me", state="/home/me/.clawft", workspace="/w", cwd="/w", own="/home/me/.clawft/sandbox/s"
)
NONE = Means(reason="user namespaces are blocked")
LANDLOCK = Means("landlock", abi=7, alone=("unshare",), reason="bubblewrap is not installed")
BWRAP = Means("bwrap", "/usr/bin/bwrap", sized=True, offline=True)
HOSTS = SandboxTable(network=("a.example",))


def cell(setting: str | SandboxTable, means: Means) -> Cell:
    return Cell(bounds_of(setting, AROUND), means)


@requirement("POOL-22")
@pytest.mark.parametrize("setting", ["auto", "strict", HOSTS])
def test_where_nothing_holds_it_starts_and_says_so(setting: str | SandboxTable) -> None:
    held = cell(setting, NONE)
    assert held.start(["/bin/server", "x"], "/w", {"A": "b"}).argv == ("/bin/server", "x")
    assert held.line == "none (user namespaces are blocked)"


@requirement("POOL-22")
@pytest.mark.parametrize(
    ("setting", "means", "why"),
    [
        ("require", NONE, "user namespaces are blocked"),
        (replace(HOSTS, require=True), NONE, "user namespaces are blocked"),
        (replace(HOSTS, require=True), LANDLOCK, "cannot be limited to some hosts"),
        (SandboxTable(require=True), replace(BWRAP, offline=False), "take the network away"),
    ],
)
def test_what_is_required_and_cannot_be_had_does_not_start(setting: str | SandboxTable, means: Means, why: str) -> None:
    with pytest.raises(SpawnFailed, match=why) as refused:
        cell(setting, means).start(["/bin/server"], "/w", {})
    assert "weft doctor" in refused.value.hint


@requirement("POOL-22")
@pytest.mark.parametrize(
    ("setting", "means", "line"),
    [
        ("off", BWRAP, "off"),
        ("auto", BWRAP, "bwrap"),
        ("require", BWRAP, "bwrap"),
        (HOSTS, BWRAP, "bwrap"),
        ("auto", LANDLOCK, "landlock(7) (bubblewrap is not installed)"),
        (HOSTS, LANDLOCK, "landlock(7) (the network cannot be limited to some hosts: bubblewrap is not installed)"),
    ],
)
def test_one_line_says_what_holds_it(setting: str | SandboxTable, means: Means, line: str) -> None:
    assert cell(setting, means).line == line


@requirement("POOL-22")
def test_a_server_is_told_where_its_own_cache_is_unless_it_knows_better() -> None:
    start = cell("auto", replace(LANDLOCK, alone=())).start(["/bin/server"], "/w", {"XDG_CACHE_HOME": "/mine"})
    assert start.env["XDG_CACHE_HOME"] == "/mine"
    for name, folder in (("npm_config_cache", "npm"), ("UV_TOOL_DIR", "uv-tools"), ("PIPX_HOME", "pipx")):
        assert start.env[name] == f"/home/me/.clawft/sandbox/s/{folder}"
    Path(start.temporary).rmdir()

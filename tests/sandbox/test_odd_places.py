"""Workspaces with odd names, behind links, or as large as the machine."""

import os
import sys
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.sandbox.held import ATTACKS, LEVELS, House

pytestmark = [
    pytest.mark.slow,  # an interpreter for each
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]

ODD = ["new\nline", "quote'\"$(id)`", "-rf --", "räum 😀", "tab\t\\", os.fsdecode(b"latin\xe4")]


@requirement("POOL-22")
@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("level", LEVELS)
def test_a_workspace_with_an_odd_name_is_like_any_other(house: House, level: str, name: str) -> None:
    odd = House(house.home, house.state, house.home / "work" / name)
    odd.workspace.mkdir()
    (odd.workspace / ".mcp.json").write_text("{}")
    code = "import os; open('made', 'w').close(); print(len(os.listdir('.')))"
    assert odd.run(level, [sys.executable, "-c", code]).stdout == "2\n"
    assert not odd.attack(level, "read", str(house.home / ".ssh/id_ed25519"))
    assert odd.attack(level, "read", str(house.home / "letter.txt"))


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_workspace_behind_a_link_is_where_the_link_leads(house: House, level: str) -> None:
    (house.home / "short").symlink_to(house.workspace)
    linked = House(house.home, house.state, house.home / "short")
    assert linked.attack(level, "write", str(house.workspace / "new"))
    assert not linked.attack(level, "write", str(house.home / "new"))


@requirement("POOL-22")
@pytest.mark.parametrize("setting", ["auto", "strict"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_workspace_that_is_everything_opens_nothing(house: House, level: str, setting: str) -> None:
    whole = House(house.home, house.state, Path("/"))
    for argument in ("/", str(house.home)):
        for path in (house.home / ".profile", house.home / "work" / "new", Path("/usr/weft-test")):
            ran = whole.run(level, [sys.executable, ATTACKS, argument], setting, ATTACK=f"write\n{path}")
            assert ran.stderr.startswith("held: "), ran
        ran = whole.run(level, [sys.executable, ATTACKS, argument], ATTACK=f"read\n{house.state}/gateway.token")
        assert ran.stderr.startswith("held: "), ran

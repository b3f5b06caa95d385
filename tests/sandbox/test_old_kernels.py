"""Landlock as older kernels have it: what it does not see yet, a filter refuses."""

import os
import sys

import pytest
from msgspec.structs import replace

from clawft.sandbox.probe import Means
from tests.requirements import requirement
from tests.sandbox import held
from tests.sandbox.held import House, means

pytestmark = [
    pytest.mark.slow,  # an interpreter for each
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]

BEFORE_EMPTYING, BEFORE_SCOPES = 2, 5
"""Versions of Landlock: Linux 6.1, as Debian 12 has it, and 6.10."""
NOBODY_S_NUMBER = 987_654
ODD = 3
"""A way to open a file that is neither for reading nor for writing."""


@pytest.fixture(params=[BEFORE_EMPTYING, BEFORE_SCOPES])
def old(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    version: int = request.param

    def of_that_time(level: str) -> Means:
        found = means(level)
        return found if level == "free" else replace(found, abi=version)

    monkeypatch.setattr(held, "means", of_that_time)
    return version


@requirement("POOL-22")
@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("level", ["landlock", "landlock-alone"])
@pytest.mark.parametrize("place", ["letter.txt", ".ssh/id_ed25519"])
def test_no_file_of_the_user_is_emptied(house: House, level: str, place: str) -> None:
    """Nobody may write to it, and to empty it was not writing."""
    file = house.home / place
    for way in (("empty",), ("empty_by_opening", os.O_RDONLY), ("empty_by_opening", ODD), ("write",)):
        name, *how = way
        assert not house.attack(level, name, str(file), *map(str, how)), way
        assert file.read_text() == "secret"
    assert house.attack("free", "empty", str(file))


@requirement("POOL-22")
@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("level", ["landlock", "landlock-alone"])
def test_what_may_be_written_is_emptied_as_ever(house: House, level: str) -> None:
    for how in (os.O_WRONLY, os.O_RDWR):
        file = house.workspace / "notes"
        file.write_text("old")
        assert house.attack(level, "empty_by_opening", str(file), str(how))
        assert file.read_text() == ""
    assert house.attack(level, "read", str(house.home / "letter.txt"))


@requirement("POOL-22")
@pytest.mark.usefixtures("old")
def test_nothing_is_done_to_us(house: House) -> None:
    us, our_group = os.getpid(), os.getpgrp()
    for process in (us, -our_group, -1):
        assert not house.attack("landlock", "signal_to", str(process)), process
    assert not house.attack("landlock", "signal_through", f"/proc/{us}")
    assert house.attack("free", "signal_through", f"/proc/{us}")


@requirement("POOL-22", "POOL-21")
@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("attack", ["signal_to_parent", "signal_to_group_of_parent"])
def test_whoever_ends_what_a_server_leaves_behind_is_not_ended_by_it(house: House, attack: str) -> None:
    assert not house.attack("landlock", attack)
    assert not house.attack("landlock", "signal_to", "0"), "the group it leads"
    assert house.attack("free", attack)


@requirement("POOL-22")
@pytest.mark.parametrize("which", [os.PRIO_USER, os.PRIO_PGRP, os.PRIO_PROCESS])
def test_nobody_slows_us_down(house: House, which: int) -> None:
    """Whoever is told to stand back is never asked forward again. All of a user: of one who is not here."""
    who = {os.PRIO_USER: NOBODY_S_NUMBER, os.PRIO_PGRP: os.getpgrp(), os.PRIO_PROCESS: os.getpid()}[which]
    assert house.attack("free", "slow_down", str(which), str(who))
    assert not house.attack("landlock", "slow_down", str(which), str(who))
    assert house.attack("landlock", "slow_down", str(os.PRIO_PROCESS), "0")

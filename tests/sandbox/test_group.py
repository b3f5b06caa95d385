"""Who belongs to a child: found below it, or among everybody where the system does not tell of children."""

import subprocess
import sys
from collections.abc import Generator

import pytest

from clawft.sandbox import group
from tests.requirements import requirement

linux = pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells")
FAMILY = "sh -c 'sleep 600 & echo $! $$; wait' & setsid sh -c 'echo $$; exec sleep 600' & wait"


@pytest.fixture
def family() -> Generator[tuple[int, list[int]]]:
    """A leader, and those of its group below it; somebody else below it has left the group."""
    with subprocess.Popen(["sh", "-c", FAMILY], stdout=subprocess.PIPE, text=True, start_new_session=True) as leader:
        assert leader.stdout is not None
        lines = sorted((leader.stdout.readline().split(), leader.stdout.readline().split()), key=len)
        (away,), others = ([int(word) for word in line] for line in lines)
        yield leader.pid, sorted(others)
        group.signal_group(away)
        group.signal_group(leader.pid)


@linux
@requirement("QUAL-12")
def test_whom_a_child_started_is_found_without_a_look_at_everybody(
    family: tuple[int, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, others = family
    monkeypatch.setattr(group, "_everybody", lambda: pytest.fail("all processes of this machine were looked at"))
    assert sorted(group.others_in(leader)) == others


@linux
def test_where_children_are_not_told_everybody_is_looked_at(
    family: tuple[int, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, others = family
    monkeypatch.setattr(group, "_CHILDREN_ARE_TOLD", "/nonexistent")
    assert sorted(group.others_in(leader)) == others

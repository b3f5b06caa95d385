"""What is remembered of states that have allowed something, and for how long."""

import time

import pytest

from clawft.errors import Busy
from clawft.gateway import spent_states
from clawft.gateway.spent_states import SpentStates
from tests.requirements import requirement

pytestmark = requirement("POOL-18", "QUAL-12")


@pytest.fixture
def later() -> float:
    return time.time() + 60


def test_a_state_is_spent_once(later: float) -> None:
    used = SpentStates()
    assert [used.spend(nonce, "ada", later) for nonce in (b"1", b"2", b"1", b"2")] == [True, True, False, False]


def test_where_there_is_no_room_it_is_refused_and_nothing_is_forgotten(
    later: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spent_states, "MAX_SPENT", 3)
    monkeypatch.setattr(spent_states, "MAX_SPENT_OF_ONE", 2)
    used = SpentStates()
    assert used.spend(b"1", "ada", later)
    assert used.spend(b"2", "ada", later)
    with pytest.raises(Busy):
        used.spend(b"3", "ada", later)
    assert used.spend(b"4", "bob", later)
    with pytest.raises(Busy):
        used.spend(b"5", "cleo", later)
    assert not used.spend(b"1", "ada", later)


def test_what_is_over_makes_room(later: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spent_states, "MAX_SPENT_OF_ONE", 1)
    used = SpentStates()
    assert used.spend(b"1", "ada", time.time() - 1)
    assert used.spend(b"2", "ada", later)
    with pytest.raises(Busy):
        used.spend(b"3", "ada", later)

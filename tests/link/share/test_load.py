"""The load of all large messages together, and the share of time for what nobody waits for."""

import time

import pytest

from clawft.errors import Busy
from clawft.link.share.load import Load, Total
from clawft.link.share.noise import AT_ONCE_SECONDS, SHARE, Noise
from tests.requirements import requirement


@requirement("QUAL-12")
def test_what_is_carried_has_a_bound_and_is_put_down() -> None:
    total = Total("things", 100)
    with Load(total, 60):
        with pytest.raises(Busy, match="100 bytes"):
            Load(total, 50)
        with Load(total, 40):
            assert total.carried == 100
        assert total.carried == 60
    assert total.carried == 0


@requirement("QUAL-12")
def test_one_alone_is_always_taken() -> None:
    total = Total("things", 100)
    with Load(total) as load:
        for _ in range(5):
            load.add(50)
        with pytest.raises(Busy):
            Load(total, 1)
    assert total.carried == 0


@requirement("QUAL-12")
def test_a_caller_has_half_and_a_single_large_one_is_still_taken() -> None:
    total = Total("things", 100)
    with Load(total, 80, "one"):
        with pytest.raises(Busy):
            Load(total, 1, "one")
        with Load(total, 20, "other"):
            assert total.carried == 100
    assert not total.of_caller


@requirement("QUAL-12")
def test_what_was_announced_counts_once() -> None:
    total = Total("things", 100)
    with Load(total, 60, "one") as load:
        load.arrive(40)
        load.arrive(20)
        assert total.carried == 60
        load.arrive(10)
        assert total.carried == 70


@requirement("QUAL-03")
def test_a_few_notices_cost_nothing_and_a_flood_costs_a_pause() -> None:
    noise = Noise()
    now = time.monotonic()
    assert noise.heard(100, now) == 0
    pauses = [noise.heard(100, time.monotonic()) for _ in range(10_000)]
    assert any(pauses)
    assert max(pauses) < 10 * AT_ONCE_SECONDS / SHARE + 1


@requirement("QUAL-03")
def test_those_that_say_too_much_divide_what_one_alone_would_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noise, "noisy", {})
    quiet, *loud = [Noise() for _ in range(11)]
    now = time.monotonic()
    pauses = [noise.heard(10_000_000, now) for noise in loud]
    assert pauses[-1] > 9 * pauses[0]
    assert quiet.heard(100, time.monotonic()) == 0


@requirement("QUAL-03")
def test_what_takes_long_to_hear_is_paid_for() -> None:
    noise = Noise()
    assert noise.heard(1, time.monotonic() - 1.0) >= 1.0 / SHARE - AT_ONCE_SECONDS

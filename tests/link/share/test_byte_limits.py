"""The reservation of all large messages together, and the share of time for what nobody waits for."""

import time

import pytest

from clawft.errors import Busy
from clawft.link.share.byte_limits import ByteLimit, Reservation
from clawft.link.share.read_throttle import BURST_SECONDS, UNSOLICITED_SHARE, ReadThrottle
from tests.requirements import requirement


@requirement("QUAL-12")
def test_what_is_carried_has_a_bound_and_is_put_down() -> None:
    limit = ByteLimit("things", 100)
    with Reservation(limit, 60):
        with pytest.raises(Busy, match="100 bytes"):
            Reservation(limit, 50)
        with Reservation(limit, 40):
            assert limit.reserved == 100
        assert limit.reserved == 60
    assert limit.reserved == 0


@requirement("QUAL-12")
def test_one_alone_is_always_taken() -> None:
    limit = ByteLimit("things", 100)
    with Reservation(limit) as reservation:
        for _ in range(5):
            reservation.add(50)
        with pytest.raises(Busy):
            Reservation(limit, 1)
    assert limit.reserved == 0


@requirement("QUAL-12")
def test_a_caller_has_half_and_a_single_large_one_is_still_taken() -> None:
    limit = ByteLimit("things", 100)
    with Reservation(limit, 80, "one"):
        with pytest.raises(Busy):
            Reservation(limit, 1, "one")
        with Reservation(limit, 20, "other"):
            assert limit.reserved == 100
    assert not limit.by_caller


@requirement("QUAL-12")
def test_what_was_announced_counts_once() -> None:
    limit = ByteLimit("things", 100)
    with Reservation(limit, 60, "one") as reservation:
        reservation.count_received(40)
        reservation.count_received(20)
        assert limit.reserved == 60
        reservation.count_received(10)
        assert limit.reserved == 70


@requirement("QUAL-03")
def test_a_few_notices_cost_nothing_and_a_flood_costs_a_pause() -> None:
    throttle = ReadThrottle()
    now = time.monotonic()
    assert throttle.pause_after(100, now) == 0
    pauses = [throttle.pause_after(100, time.monotonic()) for _ in range(10_000)]
    assert any(pauses)
    assert max(pauses) < 10 * BURST_SECONDS / UNSOLICITED_SHARE + 1


@requirement("QUAL-03")
def test_those_that_say_too_much_divide_what_one_alone_would_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReadThrottle, "throttled", {})
    quiet, *loud = [ReadThrottle() for _ in range(11)]
    now = time.monotonic()
    pauses = [throttle.pause_after(10_000_000, now) for throttle in loud]
    assert pauses[-1] > 9 * pauses[0]
    assert quiet.pause_after(100, time.monotonic()) == 0


@requirement("QUAL-03")
def test_what_takes_long_to_hear_is_paid_for() -> None:
    throttle = ReadThrottle()
    assert throttle.pause_after(1, time.monotonic() - 1.0) >= 1.0 / UNSOLICITED_SHARE - BURST_SECONDS

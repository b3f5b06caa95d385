"""Shares of callers, counted with a clock of our own."""

from clawft.gateway.http import rate_limits
from clawft.gateway.http.access import AccessRefusal
from clawft.gateway.http.rate_limits import RateLimits, TokenBuckets
from clawft.model import LOCAL
from tests.requirements import requirement


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@requirement("QUAL-12")
def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    clock = Clock()
    buckets = TokenBuckets(2, 3, clock)
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("b") == 0
    clock.now = 0.5
    assert [buckets.take("a") for _ in range(2)] == [0, 0.5]
    clock.now = 1_000
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


@requirement("QUAL-12")
def test_only_so_many_names_are_remembered() -> None:
    buckets = TokenBuckets(1, 1, Clock())
    assert buckets.take("first") == 0
    assert buckets.take("first") == 1
    for number in range(rate_limits.MAX_BUCKETS):
        buckets.take(str(number))
    assert buckets.take("first") == 0


@requirement("QUAL-12")
def test_a_request_that_left_makes_room_for_the_next() -> None:
    gate = RateLimits()
    assert [gate.enter("ada") for _ in range(rate_limits.MAX_IN_FLIGHT)] == [None] * rate_limits.MAX_IN_FLIGHT
    assert isinstance(gate.enter("ada"), AccessRefusal)
    assert gate.enter("bob") is None
    gate.leave("ada")
    assert gate.enter("ada") is None


@requirement("QUAL-12")
def test_the_person_at_the_machine_is_counted_only_where_a_rate_is_set() -> None:
    assert RateLimits().is_unlimited(LOCAL)
    assert not RateLimits().is_unlimited("ada")
    assert not RateLimits(5).is_unlimited(LOCAL)
    gate = RateLimits(100_000)
    assert [gate.enter(LOCAL) for _ in range(2 * rate_limits.MAX_IN_FLIGHT)] == [None] * 2 * rate_limits.MAX_IN_FLIGHT


@requirement("QUAL-12")
def test_many_requests_in_one_are_many() -> None:
    gate = RateLimits()
    assert gate.enter("ada", rate_limits.MAX_IN_FLIGHT - 1) is None
    assert isinstance(gate.enter("ada", 2), AccessRefusal)
    assert gate.enter("ada", 1) is None
    gate.leave("ada", rate_limits.MAX_IN_FLIGHT - 1)
    assert gate.enter("ada", 2) is None


@requirement("QUAL-12")
def test_what_is_taken_beyond_the_burst_is_waited_for_later() -> None:
    clock = Clock()
    buckets = TokenBuckets(2, 2, clock)
    assert buckets.take("a", 10) == 0
    assert buckets.take("a") == 4.5
    clock.now = 4.5
    assert buckets.take("a") == 0

"""Which waiter gets which answer."""

from clawft.wire.correlate import MAX_GIVEN_UP, OpenRequests
from tests.requirements import requirement


@requirement("WIRE-04", "S2-P1-03")
def test_ids_grow_and_are_not_used_again() -> None:
    waiting: OpenRequests[str] = OpenRequests()
    first = waiting.open("a")
    waiting.take(b"%d" % first)
    assert waiting.open("b") > first


@requirement("WIRE-05", "S2-P2-03")
def test_an_answer_reaches_its_own_waiter_once() -> None:
    waiting: OpenRequests[str] = OpenRequests()
    one, two = waiting.open("one"), waiting.open("two")
    assert waiting.take(b"%d" % two) == "two"
    assert waiting.take(b"%d" % two) is None
    assert waiting.take(b"%d" % one) == "one"
    assert waiting.dropped == 1
    assert len(waiting) == 0


@requirement("WIRE-05")
def test_unknown_answers_are_counted_and_dropped() -> None:
    waiting: OpenRequests[str] = OpenRequests()
    id = waiting.open("a")
    for stranger in (b'"%d"' % id, b"%d.0" % id, b" %d" % id, b"0%d" % id, b"null", b"", b"99"):
        assert waiting.take(stranger) is None
    assert waiting.dropped == 7
    assert waiting.take(b"%d" % id) == "a"


@requirement("WIRE-05")
def test_a_late_answer_finds_nobody() -> None:
    waiting: OpenRequests[str] = OpenRequests()
    id = waiting.open("a")
    waiting.close(id)
    waiting.close(id)
    assert waiting.take(b"%d" % id) is None
    assert waiting.dropped == 0  # we gave it up: that is not the fault of whoever answers
    assert waiting.take(b"%d" % id) is None
    assert waiting.dropped == 1


@requirement("WIRE-05")
def test_no_more_than_the_last_requests_that_were_given_up_are_remembered() -> None:
    waiting: OpenRequests[str] = OpenRequests()
    ids = [waiting.open("a") for _ in range(MAX_GIVEN_UP + 1)]
    for id in ids:
        waiting.close(id)
    for id in ids:
        waiting.take(b"%d" % id)
    assert waiting.dropped == 1


@requirement("WIRE-07")
def test_the_end_of_the_link_concerns_everyone_who_waits() -> None:
    waiting: OpenRequests[str] = OpenRequests()
    waiting.open("a")
    waiting.open("b")
    assert waiting.drain() == ["a", "b"]
    assert len(waiting) == 0

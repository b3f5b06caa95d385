"""Room for what waits: who keeps up is not counted, and who takes nothing gives way to who needs the room."""

from math import inf

import pytest

from clawft.link.share import unread_output as module
from clawft.link.share.unread_output import IDLE_SECONDS, PACE_BYTES, SlowReader, UnreadOutput
from tests.requirements import requirement

pytestmark = requirement("QUAL-12")

LIMIT = 10 * PACE_BYTES


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    ticking = Clock()
    monkeypatch.setattr(module, "_clock", ticking)
    return ticking


class Reader(SlowReader):
    """Takes what it is told to take."""

    def __init__(self, unread: UnreadOutput, grace: float = IDLE_SECONDS) -> None:
        super().__init__(lambda: self.left, self._gone, grace=grace, is_held_up=lambda: self.held_up, unread=unread)
        self.left = 0
        self.held_up = False
        self.given_up = 0

    def _gone(self, size: int) -> None:
        self.given_up = size

    def send(self, size: int) -> None:
        self.left += size
        self.lag(size)


def test_one_alone_has_its_own_bound(clock: Clock) -> None:
    unread = UnreadOutput(LIMIT)
    one = Reader(unread)
    one.send(3 * LIMIT)
    assert (one.given_up, unread.bytes) == (0, 3 * LIMIT)
    one.caught_up()
    assert (unread.bytes, unread.readers) == (0, {})
    one.caught_up()
    assert unread.bytes == 0


def test_who_took_nothing_for_longest_gives_way(clock: Clock) -> None:
    unread = UnreadOutput(LIMIT)
    deaf, slow, new = Reader(unread), Reader(unread), Reader(unread)
    slow.send(LIMIT // 2)
    clock.now += 1
    deaf.send(LIMIT // 2)
    clock.now += 1
    slow.left -= PACE_BYTES  # which nobody was told of
    new.send(LIMIT // 2)
    assert (slow.given_up, deaf.given_up, new.given_up) == (0, LIMIT // 2, 0)
    assert unread.bytes == LIMIT - PACE_BYTES


def test_a_few_bytes_now_and_then_are_no_reading(clock: Clock) -> None:
    unread = UnreadOutput(LIMIT)
    dripping, new = Reader(unread), Reader(unread)
    dripping.send(LIMIT - PACE_BYTES)
    for _ in range(3):
        clock.now += 1
        dripping.left -= 100
        dripping.send(200)
    new.send(2 * PACE_BYTES)
    assert dripping.given_up
    assert not new.given_up


def test_time_in_which_we_hold_it_up_is_not_held_against_it(clock: Clock) -> None:
    unread = UnreadOutput(LIMIT)
    held_up, deaf, new = Reader(unread), Reader(unread), Reader(unread)
    held_up.send(LIMIT // 2)
    clock.now += 1
    deaf.send(LIMIT // 4)
    held_up.held_up = True
    held_up.update()
    clock.now += 2
    new.send(LIMIT // 2)
    assert (held_up.given_up, deaf.given_up, new.given_up) == (0, LIMIT // 4, 0)


def test_what_was_taken_meanwhile_makes_room(clock: Clock) -> None:
    unread = UnreadOutput(LIMIT)
    one, other = Reader(unread), Reader(unread)
    one.send(LIMIT)
    one.left = PACE_BYTES
    other.send(LIMIT // 2)
    assert not one.given_up
    assert unread.bytes == LIMIT // 2 + PACE_BYTES


def test_clients_that_take_nothing_give_way_to_whoever_asks(clock: Clock) -> None:
    unread = UnreadOutput(LIMIT)
    deaf, reading, server = Reader(unread), Reader(unread), Reader(unread, inf)
    server.send(PACE_BYTES)
    deaf.send(PACE_BYTES)
    reading.send(3 * PACE_BYTES)
    assert not unread.give_up_idle()
    clock.now += IDLE_SECONDS + 0.1
    reading.left -= PACE_BYTES
    assert unread.give_up_idle()
    assert (deaf.given_up, reading.given_up, server.given_up) == (PACE_BYTES, 0, 0)
    assert not unread.give_up_idle()

"""One bound for all that waits: what is on its way has its place, and what is only kept gives way to it."""

import pytest

from clawft.link.share import room as module
from clawft.link.share.room import Room
from tests.requirements import requirement

pytestmark = requirement("QUAL-12")

LIMIT = 100


class Kind:
    """Of things that are all of one size."""

    def __init__(self, room: Room, count: int, size: int = 10, *, needed: int = 0) -> None:
        """So many of them are needed."""
        self.count, self.size, self.needed = count, size, needed
        room.lend(self)

    @property
    def bytes(self) -> int:
        return self.count * self.size

    def give_way(self) -> bool:
        if self.count == self.needed:
            return False
        self.count -= 1
        return True


@pytest.fixture(autouse=True)
def few_are_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPARED_BYTES", 10)


def test_while_there_is_room_nothing_gives_way() -> None:
    room = Room(LIMIT)
    kinds = [Kind(room, 5), Kind(room, 5)]
    room.settle()
    assert [kind.count for kind in kinds] == [5, 5]


def test_the_kind_that_has_most_gives_way() -> None:
    room = Room(LIMIT)
    modest, greedy = Kind(room, 2), Kind(room, 20)
    room.settle()
    assert (modest.count, greedy.count) == (2, 8)


def test_all_that_is_kept_gives_way_to_what_is_on_its_way_but_for_a_little() -> None:
    room = Room(LIMIT)
    kinds = [Kind(room, 5), Kind(room, 3)]
    sizes = {"on the way": LIMIT - 40}
    room.count(lambda: sizes["on the way"])
    room.settle()
    assert [kind.count for kind in kinds] == [2, 2]
    sizes["on the way"] = 3 * LIMIT
    room.settle()
    assert [kind.count for kind in kinds] == [1, 1]


def test_what_cannot_be_done_without_stays() -> None:
    room = Room(LIMIT)
    kind = Kind(room, 20, needed=15)
    room.settle()
    assert kind.count == 15


def test_then_another_kind_does() -> None:
    room = Room(LIMIT)
    needed, other = Kind(room, 9, needed=9), Kind(room, 5)
    room.settle()
    assert (needed.count, other.count) == (9, 1)


def test_a_kind_that_is_gone_has_given_its_room_back() -> None:
    room = Room(LIMIT)
    gone = Kind(room, 10)
    del gone
    other = Kind(room, 10)
    room.settle()
    assert other.count == 10

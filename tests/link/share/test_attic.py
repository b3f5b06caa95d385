"""One bound for all that waits: what is on its way has its place, and what is only kept gives way to it."""

import pytest

from clawft.link.share import attic as module
from clawft.link.share.attic import Attic
from tests.requirements import requirement

pytestmark = requirement("QUAL-12")

LIMIT = 100


class Kind:
    """Of things that are all of one size."""

    def __init__(self, attic: Attic, count: int, size: int = 10, *, needed: int = 0) -> None:
        """So many of them are needed."""
        self.count, self.size, self.needed = count, size, needed
        attic.lend(self)

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
    attic = Attic(LIMIT)
    kinds = [Kind(attic, 5), Kind(attic, 5)]
    attic.settle()
    assert [kind.count for kind in kinds] == [5, 5]


def test_the_kind_that_has_most_gives_way() -> None:
    attic = Attic(LIMIT)
    modest, greedy = Kind(attic, 2), Kind(attic, 20)
    attic.settle()
    assert (modest.count, greedy.count) == (2, 8)


def test_there_is_room_for_what_would_stay() -> None:
    attic = Attic(LIMIT)
    attic.count(lambda: 70)
    Kind(attic, 3)
    assert [attic.has_room(size) for size in (10, 30, 31)] == [True, True, False]
    attic.count(lambda: 70)
    assert [attic.has_room(size) for size in (10, 11)] == [True, False]


def test_all_that_is_kept_gives_way_to_what_is_on_its_way_but_for_a_little() -> None:
    attic = Attic(LIMIT)
    kinds = [Kind(attic, 5), Kind(attic, 3)]
    sizes = {"on the way": LIMIT - 40}
    attic.count(lambda: sizes["on the way"])
    attic.settle()
    assert [kind.count for kind in kinds] == [2, 2]
    sizes["on the way"] = 3 * LIMIT
    attic.settle()
    assert [kind.count for kind in kinds] == [1, 1]


def test_what_cannot_be_done_without_stays() -> None:
    attic = Attic(LIMIT)
    kind = Kind(attic, 20, needed=15)
    attic.settle()
    assert kind.count == 15


def test_then_another_kind_does() -> None:
    attic = Attic(LIMIT)
    needed, other = Kind(attic, 9, needed=9), Kind(attic, 5)
    attic.settle()
    assert (needed.count, other.count) == (9, 1)


def test_a_kind_that_is_gone_has_given_its_room_back() -> None:
    attic = Attic(LIMIT)
    gone = Kind(attic, 10)
    del gone
    other = Kind(attic, 10)
    attic.settle()
    assert other.count == 10

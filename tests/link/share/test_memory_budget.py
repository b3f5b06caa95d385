"""One bound for all that waits: what is on its way has its place, and what is only kept gives way to it."""

import pytest

from clawft.link.share import memory_budget as module
from clawft.link.share.memory_budget import MemoryBudget
from tests.requirements import requirement

pytestmark = requirement("QUAL-12")

LIMIT = 100


class Kind:
    """Of things that are all of one size."""

    def __init__(self, budget: MemoryBudget, count: int, size: int = 10, *, needed: int = 0) -> None:
        """So many of them are needed."""
        self.count, self.size, self.needed = count, size, needed
        budget.add_cache(self)

    @property
    def bytes(self) -> int:
        return self.count * self.size

    def evict_one(self) -> bool:
        if self.count == self.needed:
            return False
        self.count -= 1
        return True


@pytest.fixture(autouse=True)
def few_are_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPARED_BYTES", 10)


def test_while_there_is_room_nothing_gives_way() -> None:
    budget = MemoryBudget(LIMIT)
    kinds = [Kind(budget, 5), Kind(budget, 5)]
    budget.enforce()
    assert [kind.count for kind in kinds] == [5, 5]


def test_the_kind_that_has_most_gives_way() -> None:
    budget = MemoryBudget(LIMIT)
    modest, greedy = Kind(budget, 2), Kind(budget, 20)
    budget.enforce()
    assert (modest.count, greedy.count) == (2, 8)


def test_there_is_room_for_what_would_stay() -> None:
    budget = MemoryBudget(LIMIT)
    budget.add_required(lambda: 70)
    Kind(budget, 3)
    assert [budget.has_room(size) for size in (10, 30, 31)] == [True, True, False]
    budget.add_required(lambda: 70)
    assert [budget.has_room(size) for size in (10, 11)] == [True, False]


def test_all_that_is_kept_gives_way_to_what_is_on_its_way_but_for_a_little() -> None:
    budget = MemoryBudget(LIMIT)
    kinds = [Kind(budget, 5), Kind(budget, 3)]
    sizes = {"on the way": LIMIT - 40}
    budget.add_required(lambda: sizes["on the way"])
    budget.enforce()
    assert [kind.count for kind in kinds] == [2, 2]
    sizes["on the way"] = 3 * LIMIT
    budget.enforce()
    assert [kind.count for kind in kinds] == [1, 1]


def test_what_cannot_be_done_without_stays() -> None:
    budget = MemoryBudget(LIMIT)
    kind = Kind(budget, 20, needed=15)
    budget.enforce()
    assert kind.count == 15


def test_then_another_kind_does() -> None:
    budget = MemoryBudget(LIMIT)
    needed, other = Kind(budget, 9, needed=9), Kind(budget, 5)
    budget.enforce()
    assert (needed.count, other.count) == (9, 1)


def test_a_kind_that_is_gone_has_given_its_room_back() -> None:
    budget = MemoryBudget(LIMIT)
    gone = Kind(budget, 10)
    del gone
    other = Kind(budget, 10)
    budget.enforce()
    assert other.count == 10

"""A bound on logins that wait for their person, shared fairly: nobody can push out the logins of all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from clawft.errors import LoginFailed


def evicted() -> LoginFailed:
    return LoginFailed("it gave way to logins of others", hint="start it again, with fewer at a time")


class LoginSlot:
    """Held by one waiting login. `give_up` is called when it is evicted for the login of somebody else."""

    def __init__(self, whose: str, leave: Callable[[LoginSlot], None]) -> None:
        self.whose = whose
        self.give_up: Callable[[], object] = lambda: None
        self.evicted = False
        self._leave = leave

    def leave(self) -> None:
        self._leave(self)


class LoginSlots:
    """When all are taken, the oldest login of whoever has most is evicted; whoever has most is refused."""

    def __init__(self, refusal: Callable[[], LoginFailed]) -> None:
        self._refusal = refusal
        self._taken: dict[LoginSlot, None] = {}
        """The oldest first."""

    def take(self, whose: str, most: int) -> LoginSlot:
        """A slot for one login of `whose`, of at most so many in all. Raises LoginFailed if it is refused."""
        if len(self._taken) >= most:
            self._evict_one(whose)
        slot = LoginSlot(whose, self._free)
        self._taken[slot] = None
        return slot

    def _evict_one(self, newcomer: str) -> None:
        shares = Counter(slot.whose for slot in self._taken)
        ((greedy, share),) = shares.most_common(1)
        if share <= shares[newcomer] + 1:  # or two of them would take turns at the last one
            raise self._refusal()
        oldest = next(slot for slot in self._taken if slot.whose == greedy)
        del self._taken[oldest]
        oldest.evicted = True
        oldest.give_up()

    def _free(self, slot: LoginSlot) -> None:
        self._taken.pop(slot, None)

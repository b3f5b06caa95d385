"""Places for logins that wait for their person: a bound for all of them, and nobody takes those of all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from clawft.errors import LoginFailed


def gave_way() -> LoginFailed:
    return LoginFailed("it gave way to logins of others", hint="begin it again, and fewer at a time")


class Place:
    """`give_up` is called when it is needed for somebody else."""

    def __init__(self, whose: str, leave: Callable[[Place], None]) -> None:
        self.whose = whose
        self.give_up: Callable[[], object] = lambda: None
        self.lost = False
        self._leave = leave

    def leave(self) -> None:
        self._leave(self)


class Places:
    """When all are taken the oldest of whoever has most gives way. Who has most gets no further one."""

    def __init__(self, refusal: Callable[[], LoginFailed]) -> None:
        self._refusal = refusal
        self._taken: dict[Place, None] = {}
        """The oldest first."""

    def take(self, whose: str, most: int) -> Place:
        """Raises LoginFailed."""
        if len(self._taken) >= most:
            self._make_room(whose)
        place = Place(whose, self._free)
        self._taken[place] = None
        return place

    def _make_room(self, newcomer: str) -> None:
        shares = Counter(place.whose for place in self._taken)
        ((greedy, share),) = shares.most_common(1)
        if share <= shares[newcomer] + 1:  # or two of them would take turns at the last one
            raise self._refusal()
        oldest = next(place for place in self._taken if place.whose == greedy)
        del self._taken[oldest]
        oldest.lost = True
        oldest.give_up()

    def _free(self, place: Place) -> None:
        self._taken.pop(place, None)

"""Remembers states that have allowed something: a person's consent to one use does not count twice when their answer is
sent again.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import takewhile

from clawft.errors import Busy

MAX_SPENT = 20_000
MAX_SPENT_OF_ONE = 2_000


class SpentStates:
    """Remembers a state from its use to its end. Nothing gives way: what is forgotten could be used again."""

    def __init__(self) -> None:
        self._states: dict[bytes, tuple[str, float]] = {}
        self._of: Counter[str] = Counter()

    def spend(self, nonce: bytes, principal: str, expires: float) -> bool:
        """Whether this is the first time. Raises Busy where there is no room to remember it."""
        self._forget()
        if nonce in self._states:
            return False
        if len(self._states) >= MAX_SPENT or self._of[principal] >= MAX_SPENT_OF_ONE:
            raise Busy("too many questions were answered", hint="approve it permanently, or wait a while")
        self._states[nonce] = (principal, expires)
        self._of[principal] += 1
        return True

    def _forget(self) -> None:
        """Forget expired states, in the order they were used: one that ends before the one before it waits for it."""
        now = time.time()
        over = list(takewhile(lambda each: each[1][1] < now, self._states.items()))
        for nonce, (principal, _) in over:
            del self._states[nonce]
            self._of[principal] -= 1
        if over:
            self._of = +self._of  # without those that have none

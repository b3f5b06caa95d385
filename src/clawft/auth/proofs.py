"""The tokens people came with, while they are good: in memory only, and for one use, to be exchanged for others.

A token is kept under who came, through which program and with which rights: a renewed one takes the place of the one
before, and one with fewer rights never that of one with more.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable

from clawft.auth.bearer import Person
from clawft.auth.config import SecretText

MAX_PROOFS = 4_096
"""Whoever has not come for the longest time gives way, and is asked for a token again."""


class Proofs:
    """Of people with tokens of one issuer."""

    def __init__(self, wanted: Callable[[], bool] = lambda: True) -> None:
        """`wanted`: whether anybody would exchange a token now; if not, none is kept."""
        self._wanted = wanted
        self._kept: OrderedDict[str, tuple[SecretText, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, person: Person, token: str) -> str:
        """The name under which the token can be had, as long as it is good."""
        name = _name_of(person)
        if not self._wanted():
            return name
        known = self._kept.get(name)
        if known is None or known[1] <= person.expires_at:
            self._kept[name] = (SecretText(token), person.expires_at)
        self._kept.move_to_end(name)
        while len(self._kept) > MAX_PROOFS:
            self._kept.popitem(last=False)
        return name

    def token(self, name: str) -> str:
        """Empty if nobody has come with one that is still good."""
        known = self._kept.get(name)
        if known is not None and time.time() < known[1]:
            return known[0].reveal()
        self._kept.pop(name, None)
        return ""


def _name_of(person: Person) -> str:
    rights = (person.subject, person.client, sorted(person.scopes), sorted(person.groups))
    return hashlib.sha256(repr(rights).encode("utf-8", "surrogatepass")).hexdigest()[:32]  # JSON has no half characters

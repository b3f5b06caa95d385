"""How far a list was read, so that what one server does to its own part of it costs nobody else a place. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Bookmark(Struct, frozen=True, array_like=True):
    """Behind which item a page ended."""

    passed: int
    """How many had been read."""
    own: int
    """How many of them were of the same owner as the last."""
    owner: str


def bookmark(owners: Sequence[str], passed: int) -> Bookmark:
    owner = owners[passed - 1]
    return Bookmark(passed, sum(each == owner for each in owners[:passed]), owner)


def reading_on(owners: Sequence[str], mark: Bookmark) -> int:
    """Where the rest begins, though owners may have more or fewer items than before, or be gone."""
    own = [at for at, each in enumerate(owners) if each == mark.owner]
    if own:
        return own[min(mark.own, len(own)) - 1] + 1
    return mark.passed - mark.own

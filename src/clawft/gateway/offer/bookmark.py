"""How far a list was read, so that what one server does to its own part of it costs nobody else a place. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Bookmark(Struct, frozen=True, array_like=True):
    """Behind which item a page ended."""

    own: int
    """How many were read of the last one's owner."""
    owners: tuple[str, ...]
    """Of whom something was read, the last first."""


def bookmark(owners: Sequence[str], passed: int) -> Bookmark:
    read = owners[:passed]
    return Bookmark(read.count(read[-1]), tuple(dict.fromkeys(reversed(read))))


def reading_on(owners: Sequence[str], mark: Bookmark) -> int:
    """Where the rest begins, though owners may have more or fewer items than before, or be gone.

    Behind what was read of the last; if that one is gone, behind the one before.
    """
    places: dict[str, list[int]] = {owner: [] for owner in mark.owners}
    for at, owner in enumerate(owners):
        if owner in places:
            places[owner].append(at)
    last, *earlier = mark.owners
    if places[last]:
        return places[last][: mark.own][-1] + 1
    return next((places[owner][-1] + 1 for owner in earlier if places[owner]), 0)

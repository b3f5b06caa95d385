"""Bookmarks in a paged list: where the next page begins although servers have changed their lists meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Bookmark(Struct, frozen=True, array_like=True):
    """The position where a page ended: by owners, not by number, so that one server's changes shift nobody else's."""

    own: int
    """How many items of the last owner were read."""
    owners: tuple[str, ...]
    """The owners whose items were read, the last one first."""


def bookmark(owners: Sequence[str], passed: int) -> Bookmark:
    read = owners[:passed]
    return Bookmark(read.count(read[-1]), tuple(dict.fromkeys(reversed(read))))


def reading_on(owners: Sequence[str], mark: Bookmark) -> int:
    """The index of the first unread item, though owners may have more or fewer items than before, or be gone.

    Reading goes on behind what was read of the last owner; if that one is gone, behind the owner before it.
    """
    places: dict[str, list[int]] = {owner: [] for owner in mark.owners}
    for at, owner in enumerate(owners):
        if owner in places:
            places[owner].append(at)
    last, *earlier = mark.owners
    if places[last]:
        return places[last][: mark.own][-1] + 1
    return next((places[owner][-1] + 1 for owner in earlier if places[owner]), 0)

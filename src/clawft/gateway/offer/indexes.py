"""Search indexes over tools, shared by all callers who see the same tools, as building one takes long."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clawft.catalog.search import Index
from clawft.catalog.snapshot import CatalogEntry
from clawft.model import Grant

KEPT = 4
"""How many indexes are kept however many tools they hold."""
KEPT_TOOLS = 16_000
"""How many tools all kept indexes may hold together, where there are more indexes than that."""
MAX_AUDIENCES = 1_024

Audience = tuple[Grant, str, str, str]
"""The properties that decide which tools a caller sees: rights, agent, principal, proof."""
Seen = tuple[tuple[str, bytes], ...]
"""The tools of a list, by name and definition."""


class Indexes:
    """A cache of search indexes; the oldest is dropped first."""

    def __init__(self) -> None:
        self._kept: dict[Seen, Index] = {}
        self._of: dict[Audience, Index] = {}
        """Audience → its index, so that not every search has to look at all tools."""

    def clear(self) -> None:
        self._kept.clear()
        self._of.clear()

    def of(self, audience: Audience, look: Callable[[], Sequence[CatalogEntry]]) -> Index:
        """The index for an audience; `look` gives the tools it sees."""
        known = self._of.get(audience)
        if known is not None:
            return known
        entries = look()
        seen = tuple((entry.name, entry.tool.wire) for entry in entries)
        index = self._kept.get(seen) or self._make(seen, entries)
        if len(self._of) >= MAX_AUDIENCES:
            self._of.clear()
        self._of[audience] = index
        return index

    def _make(self, seen: Seen, entries: Sequence[CatalogEntry]) -> Index:
        made = self._kept[seen] = Index(entries)
        while len(self._kept) > KEPT and sum(map(len, self._kept)) > KEPT_TOOLS:
            given_up = self._kept.pop(next(iter(self._kept)))
            self._of = {audience: index for audience, index in self._of.items() if index is not given_up}
        return made

"""How much of the catalog is listed: all of it, or a pair of tools that find and call the rest. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from msgspec import Struct

from clawft.catalog.snapshot import CatalogEntry

BYTES_PER_TOKEN = 4
"""The cost of a definition in a model's context, by rule of thumb."""
CALL_TOOL = "weft__call_tool"
FINDERS = frozenset({"weft__search_tools", CALL_TOOL})
"""The pair, by canonical name."""


class SurfaceForm(Enum):
    """The forms of the list that `--surface` chooses from; `auto` searches where all definitions together would not
    fit.
    """

    FULL = "full"
    SEARCH = "search"
    AUTO = "auto"


class Surface(Struct, frozen=True):
    form: SurfaceForm = SurfaceForm.FULL
    tokens: int = 20_000
    """The most that all definitions together may cost, for `auto`."""
    pinned: tuple[str, ...] = ()
    """Globs of tools that are listed in any case."""

    def searches(self, entries: Sequence[CatalogEntry]) -> bool:
        """Whether these tools are found by search and not listed."""
        if self.form is SurfaceForm.AUTO:
            return cost_of(without_finders(entries)) > self.tokens
        return self.form is SurfaceForm.SEARCH

    def listed(self, entries: Sequence[CatalogEntry], is_pinned: Callable[[CatalogEntry], bool]) -> list[CatalogEntry]:
        """All of them where the pair is not among them: who may not search would be shown nothing."""
        if not (self.searches(entries) and searched_by(entries)):
            return without_finders(entries)
        return [entry for entry in entries if entry.canonical in FINDERS or is_pinned(entry)]


def searched_by(entries: Sequence[CatalogEntry]) -> bool:
    """Whether the pair of search tools is among these entries."""
    return {entry.canonical for entry in entries} >= FINDERS


def without_finders(entries: Sequence[CatalogEntry]) -> list[CatalogEntry]:
    return [entry for entry in entries if entry.canonical not in FINDERS]


def tokens_of(entry: CatalogEntry) -> int:
    """The tokens that a model reads of it: name, description and input schema. Hosts keep the rest to themselves."""
    definition = entry.tool.definition
    return (
        len(entry.name) + len(definition.description.encode()) + len(bytes(definition.input_schema))
    ) // BYTES_PER_TOKEN


def cost_of(entries: Sequence[CatalogEntry]) -> int:
    return sum(map(tokens_of, entries))

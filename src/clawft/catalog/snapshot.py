"""Everything offered now, as one immutable table, and how names are looked up in it. Pure.

A change builds a new one (`building`), so that a reader never sees half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Protocol, overload

import msgspec
from msgspec import Raw, Struct

from clawft.catalog.names import (
    SURELY_FIT,
    NameForm,
    accepted,
    canonical,
    exported,
    fitted,
    heads,
    may_stand_bare,
    second,
)
from clawft.model import FastPath, Next, Origin, Tool


class CatalogEntry(Struct, frozen=True):
    """One tool in the catalog: the name agents see, its definition and its way down.

    There may be tens of thousands: whatever can be told from these is not kept beside them.
    """

    name: str
    canonical: str
    tool: Tool
    origin: Origin
    run: Next
    fast_path: FastPath | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that reaches it."""
        return _names(self.name, self.origin, self.tool.name, self.tool.alias)

    @property
    def label(self) -> str:
        """How people are told of it: two tools of two servers may even have one canonical name."""
        return label_of(self.origin, self.tool)

    @property
    def wire(self) -> bytes:
        """The definition under the name agents see."""
        return rename(self.tool.wire, self.name)


def label_of(origin: Origin, tool: Tool) -> str:
    return f"{tool.name!r} of {origin.server or origin.namespace}"


@lru_cache(maxsize=1_024)
def _names(name: str, origin: Origin, tool: str, alias: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((name, *accepted(origin, Tool(tool, b"")), *second(origin, alias))))


class HasNames(Protocol):
    @property
    def names(self) -> tuple[str, ...]: ...


class Spellings(Sequence[str]):
    """Every name of something, for rules that mostly look at none of them."""

    __slots__ = ("_named",)

    def __init__(self, named: HasNames) -> None:
        self._named = named

    def __len__(self) -> int:
        return len(self._named.names)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._named.names[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named.names)


Holder = tuple[str, str]
"""The holder of a bare name: the namespace, and the tool's own name."""


class Clash(Struct, frozen=True):
    """A tool left out, and why."""

    name: str
    reason: str


class Snapshot(Struct, frozen=True, dict=True):
    entries: tuple[CatalogEntry, ...] = ()
    table: Mapping[str, CatalogEntry] = {}
    """By the name agents see."""
    canonical: Mapping[str, CatalogEntry] = {}
    clashes: tuple[Clash, ...] = ()
    origins: tuple[tuple[Origin, tuple[str, ...]], ...] = ()
    """In their order, each with the heads of its names."""
    kept: Mapping[str, Holder] = {}
    """Bare names of tools that may come back: nobody knows what their servers have now."""
    found: dict[str, CatalogEntry] = {}
    """By other spellings that were used before. These are few, as most agents use one."""

    @cached_property
    def others(self) -> Mapping[str, CatalogEntry]:
        """By second names, and by those that had to be made to fit. Made when somebody uses one: most agents do not."""
        return _others(self.table)

    @cached_property
    def bare(self) -> Mapping[str, CatalogEntry | None]:
        """By names without any prefix; none where two tools could be meant. Made when somebody uses one."""
        own, of_servers = (_bare(self.entries, of_servers=which) for which in (False, True))
        return {**own, **of_servers}

    def find(self, name: str) -> CatalogEntry | None:
        """By any spelling. Exported names first: nobody's other spelling may take one over."""
        return self.table.get(name) or self.found.get(name) or self._search(name)

    def _search(self, name: str) -> CatalogEntry | None:
        """Look an unusual spelling up. If two tools could have it, the first one does."""
        other = self.others.get(name)
        for origin, known in self.origins:
            found = self._behind(known, origin, name)
            if found is not None or (other is not None and other.origin is origin):
                return self._remember(name, found or other)
        return None if name in self.kept else self._remember(name, self.bare.get(name))

    def _behind(self, known: tuple[str, ...], origin: Origin, name: str) -> CatalogEntry | None:
        if not name.startswith(known):
            return None
        tools = (name.removeprefix(head) for head in known if name.startswith(head))
        found = (self.canonical.get(canonical(origin, tool)) for tool in tools)
        return next((entry for entry in found if entry is not None and entry.origin is origin), None)

    def _remember(self, name: str, entry: CatalogEntry | None) -> CatalogEntry | None:
        if entry is not None:
            if len(self.found) >= _MAX_FOUND:
                self.found.clear()
            self.found[name] = entry
        return entry


_MAX_FOUND = 1_024
NOTHING = Snapshot()


def _others(entries: Mapping[str, CatalogEntry]) -> Mapping[str, CatalogEntry]:
    others: dict[str, CatalogEntry] = {}
    for entry in entries.values():
        for name in second(entry.origin, entry.tool.alias):
            others.setdefault(name, entry)
        if len(entry.name) > SURELY_FIT or not entry.canonical.endswith(entry.name):
            behind = heads(entry.origin)
            for name in fitted(entry.origin, entry.tool.name):
                if name not in (head + entry.tool.name for head in behind):
                    others.setdefault(name, entry)
    return others


def _bare(entries: Sequence[CatalogEntry], *, of_servers: bool) -> dict[str, CatalogEntry | None]:
    bare: dict[str, CatalogEntry | None] = {}
    for entry in entries:
        if bool(entry.origin.server) is of_servers:
            native = (entry.tool.name,) if of_servers and may_stand_bare(entry.origin, entry.tool.name) else ()
            for name in dict.fromkeys((exported(entry.origin, entry.tool, NameForm.BARE), *native)):
                bare[name] = None if name in bare else entry
    return bare


def without_words(entry: CatalogEntry, note: str) -> CatalogEntry:
    """The entry with a note in place of everything its tool says of itself."""
    wire = msgspec.json.encode({"name": entry.name, "description": note, "inputSchema": {"type": "object"}})
    return msgspec.structs.replace(entry, tool=Tool(entry.tool.name, wire))


def with_pages(entry: CatalogEntry, spell: Callable[[str], str]) -> CatalogEntry:
    """The entry with the address of the page its tool is shown with as `spell` spells it."""
    from clawft.wire import resource_links  # only where URIs are shared

    wire = resource_links.in_definition(entry.tool.wire, spell)
    if wire is entry.tool.wire:
        return entry
    return msgspec.structs.replace(entry, tool=msgspec.structs.replace(entry.tool, wire=wire))


_object = msgspec.json.Decoder(dict[str, Raw])


def rename(wire: bytes, name: str) -> bytes:
    """A definition under another name; every other byte as it came."""
    members = _object.decode(wire)
    members["name"] = Raw(msgspec.json.encode(name))
    return msgspec.json.encode(members)

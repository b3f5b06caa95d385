"""Everything offered now, as one immutable table. A change builds a new one; a reader never sees half of it. Pure."""

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


def _none(tool: Tool) -> FastPath | None:
    return None


class ProviderOffer(Struct, frozen=True):
    """What one provider brings. `bind` composes the guards around a tool, `fast_path_of` the way that needs no task."""

    origin: Origin
    tools: tuple[Tool, ...]
    bind: Callable[[Tool], Next]
    fast_path_of: Callable[[Tool], FastPath | None] = _none
    unknown: bool = False
    """Nobody knows what it has: it was started a moment ago, or is down."""


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
        return _label(self.origin, self.tool)

    @property
    def wire(self) -> bytes:
        """Its definition under the name agents see."""
        return rename(self.tool.wire, self.name)


def _label(origin: Origin, tool: Tool) -> str:
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
"""Whose a bare name is: the namespace, and the tool's own name."""


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
    met: dict[str, CatalogEntry] = {}
    """By other spellings that were used; a few, as most agents use one."""

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
        return self.table.get(name) or self.met.get(name) or self._meet(name)

    def _meet(self, name: str) -> CatalogEntry | None:
        """Of two tools the first has a spelling."""
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
            if len(self.met) >= _MAX_MET:
                self.met.clear()
            self.met[name] = entry
        return entry


_MAX_MET = 1_024
NOTHING = Snapshot()


def build(
    offers: Sequence[ProviderOffer],
    form: NameForm = NameForm.PLAIN,
    beside: Snapshot = NOTHING,
    before: Snapshot = NOTHING,
    shown: Snapshot = NOTHING,
) -> Snapshot:
    """All tools of all offers in a stable order. Of two that would get one name the second is refused, not renamed.

    `beside` is offered already, and keeps its names. `before` is what this one replaces: what did not change since is
    taken over, so that a hundred servers that come up one by one do not have all their tools bound a hundred times.
    `shown` is what agents saw last: a bare name stays with who had it there.
    """
    entries: dict[str, CatalogEntry] = {}
    inside: dict[str, CatalogEntry] = {}
    clashes: list[Clash] = []
    holders = _holders(offers, shown) if form is NameForm.BARE else {}

    def taken(name: str) -> CatalogEntry | None:
        return entries.get(name) or (beside.find(name) if beside.entries else None)

    def is_free(name: str, wanted_by: Holder) -> bool:
        return taken(name) is None and name not in beside.kept and holders.get(name, wanted_by) == wanted_by

    for offer, tool in _in_order(offers, form):
        own = canonical(offer.origin, tool.name)
        kept = _unchanged(before.canonical.get(own), offer.origin, tool)
        named = kept if form is not NameForm.BARE else None
        name = named.name if named is not None else _export(offer.origin, tool, form, is_free)
        owner = taken(name) or inside.get(own)
        if owner is not None:
            clashes.append(Clash(name, f"{_label(offer.origin, tool)} would get the name of {owner.label}"))
            continue
        entry = kept if kept is not None and kept.name == name else _entry(name, own, offer, tool)
        entries[name] = inside[entry.canonical] = entry
    return _snapshot(entries, inside, clashes, holders)


def _holders(offers: Sequence[ProviderOffer], shown: Snapshot) -> dict[str, Holder]:
    """Who keeps which name: whoever had it, while they have that tool, or nobody knows whether they do."""
    had = {**shown.kept, **{entry.name: (entry.origin.namespace, entry.tool.name) for entry in shown.entries}}
    there = {(offer.origin.namespace, tool.name) for offer in offers for tool in offer.tools}
    unknown = {offer.origin.namespace for offer in offers if offer.unknown}
    return {name: holder for name, holder in had.items() if holder in there or holder[0] in unknown}


def _in_order(offers: Sequence[ProviderOffer], form: NameForm) -> Iterator[tuple[ProviderOffer, Tool]]:
    """As registered; with bare names external servers come first, so that they win over built-ins."""
    ordered = sorted(offers, key=lambda offer: not offer.origin.server) if form is NameForm.BARE else offers
    return ((offer, tool) for offer in ordered for tool in offer.tools)


def _unchanged(entry: CatalogEntry | None, origin: Origin, tool: Tool) -> CatalogEntry | None:
    """The very same, not only equal: a server that was restarted may be guarded otherwise."""
    return entry if entry is not None and entry.tool is tool and entry.origin is origin else None


def _export(origin: Origin, tool: Tool, form: NameForm, is_free: Callable[[str, Holder], bool]) -> str:
    name = exported(origin, tool, form)
    if form is NameForm.BARE and not is_free(name, (origin.namespace, tool.name)):
        return exported(origin, tool, NameForm.PLAIN)
    return name


def _entry(name: str, own: str, offer: ProviderOffer, tool: Tool) -> CatalogEntry:
    return CatalogEntry(name, own, tool, offer.origin, offer.bind(tool), offer.fast_path_of(tool))


def _snapshot(
    entries: dict[str, CatalogEntry],
    inside: dict[str, CatalogEntry],
    clashes: list[Clash],
    holders: Mapping[str, Holder],
) -> Snapshot:
    """Names that are held for tools which are not there are kept for them."""
    kept = {name: holder for name, holder in holders.items() if name not in entries}
    origins = {id(entry.origin): entry.origin for entry in entries.values()}.values()
    known = tuple((origin, heads(origin)) for origin in origins)
    return Snapshot(tuple(entries.values()), entries, inside, tuple(clashes), known, kept)


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

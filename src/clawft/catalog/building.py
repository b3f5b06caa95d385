"""Builds a snapshot of the catalog from what all providers offer: which tool gets which name. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from clawft.catalog.names import NameForm, canonical, exported, heads
from clawft.catalog.snapshot import NOTHING, CatalogEntry, Clash, Holder, Snapshot, label_of
from clawft.model import FastPath, Next, Origin, Tool


def _none(tool: Tool) -> FastPath | None:
    return None


class ProviderOffer(Struct, frozen=True):
    """The offer of one provider. `bind` composes the guards around a tool, `fast_path_of` a path without a task."""

    origin: Origin
    tools: tuple[Tool, ...]
    bind: Callable[[Tool], Next]
    fast_path_of: Callable[[Tool], FastPath | None] = _none
    unknown: bool = False
    """Nobody knows what it has: it was started a moment ago, or is down."""


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
            clashes.append(Clash(name, f"{label_of(offer.origin, tool)} would get the name of {owner.label}"))
            continue
        entry = kept if kept is not None and kept.name == name else _entry(name, own, offer, tool)
        entries[name] = inside[entry.canonical] = entry
    return _snapshot(entries, inside, clashes, holders)


def _holders(offers: Sequence[ProviderOffer], shown: Snapshot) -> dict[str, Holder]:
    """The holder of each name: the earlier one, while they have that tool or nobody knows whether they do."""
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

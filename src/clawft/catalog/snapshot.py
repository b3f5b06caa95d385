"""Everything offered now, as one immutable table. A change builds a new one; a reader never sees half of it. Pure."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from clawft.catalog.names import Form, accepted, canonical, exported
from clawft.model import Next, Origin, Shortcut, Tool


def _none(tool: Tool) -> Shortcut | None:
    return None


class Offer(Struct, frozen=True):
    """What one provider brings. `bind` gives the composed way down for one of its tools, `shorten` the short one."""

    origin: Origin
    tools: tuple[Tool, ...]
    bind: Callable[[Tool], Next]
    shorten: Callable[[Tool], Shortcut | None] = _none


class Entry(Struct, frozen=True):
    """One tool in the catalog: the name agents see, every name that reaches it, its definition and its way down."""

    name: str
    canonical: str
    names: tuple[str, ...]
    tool: Tool
    origin: Origin
    wire: bytes
    run: Next
    shortcut: Shortcut | None = None


class Clash(Struct, frozen=True):
    """A tool left out, and why."""

    name: str
    reason: str


class Snapshot(Struct, frozen=True):
    entries: tuple[Entry, ...] = ()
    table: Mapping[str, Entry] = {}
    """By every spelling."""
    canonical: Mapping[str, Entry] = {}
    clashes: tuple[Clash, ...] = ()


NOTHING = Snapshot()


def build(
    offers: Sequence[Offer], form: Form = Form.PLAIN, beside: Snapshot = NOTHING, before: Snapshot = NOTHING
) -> Snapshot:
    """All tools of all offers in a stable order. Of two that would get one name the second is refused, not renamed.

    `beside` is offered already, and keeps its names. `before` is what this one replaces: what did not change since is
    taken over, so that a hundred servers that come up one by one do not have all their tools bound a hundred times.
    """
    entries: dict[str, Entry] = {}
    inside: dict[str, Entry] = {}
    taken = ChainMap(entries, dict(beside.table)) if beside.table else entries
    clashes: list[Clash] = []
    for offer, tool in _in_order(offers, form):
        own = canonical(offer.origin, tool.name)
        kept = _unchanged(before.canonical.get(own), offer.origin, tool)
        name = kept.name if kept is not None and form is not Form.BARE else _export(offer.origin, tool, form, taken)
        if name in taken or own in inside:
            clashes.append(Clash(name, f"{own} would get the name of {(taken.get(name) or inside[own]).canonical}"))
            continue
        entries[name] = inside[own] = kept if kept is not None and kept.name == name else _entry(name, offer, tool)
    return Snapshot(tuple(entries.values()), _lookup(entries), inside, tuple(clashes))


def _in_order(offers: Sequence[Offer], form: Form) -> list[tuple[Offer, Tool]]:
    """As registered; with bare names external servers come first, so that they win over built-ins."""
    ordered = sorted(offers, key=lambda offer: not offer.origin.server) if form is Form.BARE else offers
    return [(offer, tool) for offer in ordered for tool in offer.tools]


def _unchanged(entry: Entry | None, origin: Origin, tool: Tool) -> Entry | None:
    """The very same, not only equal: a server that was restarted may be guarded otherwise."""
    return entry if entry is not None and entry.tool is tool and entry.origin is origin else None


def _export(origin: Origin, tool: Tool, form: Form, taken: Mapping[str, Entry]) -> str:
    name = exported(origin, tool, form)
    if form is Form.BARE and name in taken:
        return exported(origin, tool, Form.PLAIN)
    return name


def _entry(name: str, offer: Offer, tool: Tool) -> Entry:
    origin = offer.origin
    names = tuple(dict.fromkeys((name, *accepted(origin, tool), *((tool.alias,) if tool.alias else ()))))
    wire = rename(tool.wire, name)
    return Entry(name, canonical(origin, tool.name), names, tool, origin, wire, offer.bind(tool), offer.shorten(tool))


def _lookup(entries: dict[str, Entry]) -> Mapping[str, Entry]:
    """Of two tools the first has a spelling; exported names last: nobody's other spelling may take one over."""
    table: dict[str, Entry] = {}
    for entry in reversed(entries.values()):
        table.update(dict.fromkeys(entry.names, entry))
    table.update(entries)
    return table


def without_words(entry: Entry, note: str) -> Entry:
    """The same tool with a note in place of everything it says of itself."""
    wire = msgspec.json.encode({"name": entry.name, "description": note, "inputSchema": {"type": "object"}})
    return msgspec.structs.replace(entry, wire=wire, tool=Tool(entry.tool.name, wire, description=note))


_object = msgspec.json.Decoder(dict[str, Raw])


def rename(wire: bytes, name: str) -> bytes:
    """The same definition under another name; every other byte as it came."""
    members = _object.decode(wire)
    members["name"] = Raw(msgspec.json.encode(name))
    return msgspec.json.encode(members)

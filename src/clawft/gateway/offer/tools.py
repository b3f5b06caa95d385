"""The tools of all providers: one catalog for everybody, and what single people have beside it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from clawft.catalog import names
from clawft.catalog.building import ProviderOffer, build
from clawft.catalog.snapshot import (
    NOTHING,
    CatalogEntry,
    Clash,
    Snapshot,
    Spellings,
    with_pages,
    without_words,
)
from clawft.catalog.surface import Surface, without_finders
from clawft.errors import ClawftError
from clawft.gateway.offer.basis import Basis
from clawft.gateway.offer.registered_provider import RegisteredProvider, listed_by
from clawft.gateway.offer.ways import Ways
from clawft.guard.pipeline import Pipeline
from clawft.model import Caller, Origin, Tool
from clawft.policy.globs import any_matches
from clawft.provider.base import AbsentProvider, Provider

if TYPE_CHECKING:  # loaded with the first search
    from clawft.gateway.offer.indexes import Indexes

MAX_TOLD_CLASHES = 10
"""Tools that would get the name of another and are told in the log at once; further ones are counted."""
_ANYONE = Caller()

log = logging.getLogger("clawft.gateway")


class Tools:
    """Each caller sees those the guards show; the others are not there."""

    def __init__(self, basis: Basis, pipeline: Pipeline, surface: Surface) -> None:
        self._basis = basis
        self._roster = basis.roster
        self._personal = basis.roster.personal
        self._shows = basis.sides.shows
        self._pipeline = pipeline
        self._surface = surface
        self._built: Snapshot | None = None
        self._before = self._shown = NOTHING
        """What was built last, and what somebody saw last."""
        self._indexes: Indexes | None = None

    # ── the catalog ──────────────────────────────────────────────────────────────────────────────────────────────────

    def forget(self, whose: str = "") -> None:
        """It is out of date. A new one is built when somebody looks, however much has changed until then.

        `whose` is the proof of the one caller for whom it is, if it is not for all.
        """
        if not whose:
            self._built = None
        self._personal.forget(whose)
        if self._indexes is not None:
            self._indexes.clear()

    @property
    def _snapshot(self) -> Snapshot:
        if self._built is None:
            offers = [self._offer(known) for known in self._roster]
            built = build(offers, self._basis.form, before=self._before, shown=self._shown)
            told = frozenset(self._before.clashes)
            _tell([clash for clash in built.clashes if clash not in told])
            self._built = self._before = built
        return self._built

    def _offer(self, known: RegisteredProvider, caller: Caller = _ANYONE) -> ProviderOffer:
        ways = Ways(self._pipeline, known, self._basis.shared)
        tools = _tools_of(self._personal.seen(known.provider, caller), of_server=bool(known.origin.server))
        return ProviderOffer(known.origin, tools, ways.bind, ways.fast_path_of, _is_unknown(known))

    @property
    def entries(self) -> tuple[CatalogEntry, ...]:
        return self._snapshot.entries

    @property
    def clashes(self) -> tuple[Clash, ...]:
        return self._snapshot.clashes

    # ── what single people have beside it ────────────────────────────────────────────────────────────────────────────

    def _own_of(self, caller: Caller) -> Snapshot:
        if not caller.proof or not self._personal:
            return NOTHING
        return self._personal.snapshot(caller, lambda: self._build_own(caller))

    def _build_own(self, caller: Caller) -> Snapshot:
        own = [self._offer(known, caller) for known in self._roster if self._personal.has(known)]
        return build(own, self._basis.form, self._snapshot)

    def _entries_of(self, caller: Caller) -> tuple[CatalogEntry, ...]:
        own = self._own_of(caller).entries
        return (*self._snapshot.entries, *own) if own else self._snapshot.entries

    def refusal(self, name: str, caller: Caller) -> str:
        """Why a server has nothing for this caller, if a tool of it is meant; whoever may not see it hears nothing."""
        for known in self._roster:
            own = self._personal.has(known)
            spellings, refusal = self._personal.refusal(known, caller, name) if own else _absence(known, name)
            if refusal is not None and self._shows(spellings, caller):
                return str(refusal)
        return ""

    def arrival(self, name: str, caller: Caller) -> Awaitable[None] | None:
        """Of the server that a tool is meant of, if it is on its way; not of one that is hidden from this caller."""
        for known in self._roster:
            provider = known.provider
            if isinstance(provider, AbsentProvider) and (own := _own_name(known, name)):
                is_shown = self._shows(names.accepted(known.origin, Tool(own, b"")), caller)
                return provider.arrival() if is_shown else None
        return None

    # ── by name ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def find(self, name: str, caller: Caller = _ANYONE) -> CatalogEntry | None:
        snapshot = self._built or self._snapshot
        entry = snapshot.table.get(name) or snapshot.find(name)
        return entry if entry is not None or not caller.proof else self._own_of(caller).find(name)

    def find_visible(self, name: str, caller: Caller) -> CatalogEntry | None:
        """The tool of this name, unless it is hidden from this caller: then there is none, here as everywhere."""
        entry = self.find(name, caller)
        return entry if entry is not None and self._shows(entry.names, caller) else None

    def names_of(self, canonical: str, caller: Caller = _ANYONE) -> tuple[str, ...]:
        """Every spelling of a tool, for rules that match names."""
        entry = self._snapshot.canonical.get(canonical) or self._own_of(caller).canonical.get(canonical)
        return entry.names if entry else (canonical,)

    # ── as they are shown ────────────────────────────────────────────────────────────────────────────────────────────

    def visible(self, caller: Caller) -> list[CatalogEntry]:
        """The tools this caller may see, in catalog order."""
        self._shown = self._snapshot
        shown = (entry for entry in self._entries_of(caller) if self._shows(Spellings(entry), caller))
        return [self._as_seen(entry, caller) for entry in shown]

    def _as_seen(self, entry: CatalogEntry, caller: Caller) -> CatalogEntry:
        note = self._basis.sides.withheld(entry.tool, entry.origin, caller)
        if note:
            return without_words(entry, note)
        shared = self._basis.shared
        spelled = shared.spelled(entry.origin, caller) if shared.any else None
        return entry if spelled is None else with_pages(entry, spelled)

    def listed(self, caller: Caller) -> list[CatalogEntry]:
        """The tools this caller is shown at once; the others it finds by search."""
        return self._surface.listed(self.visible(caller), lambda entry: any_matches(entry.names, self._surface.pinned))

    def search(self, caller: Caller, query: str, limit: int) -> list[CatalogEntry]:
        """The tools of this caller that fit best."""
        if self._indexes is None:
            from clawft.gateway.offer.indexes import Indexes  # most callers never search

            self._indexes = Indexes()
        audience = (caller.grant, caller.agent, caller.principal, caller.proof)
        index = self._indexes.of(audience, lambda: without_finders(self.visible(caller)))
        return index.search(query, limit)

    def reaches(self, known: RegisteredProvider, caller: Caller) -> bool:
        """May this caller have what a provider has beside its tools and prompts?

        Resources have no names that rules could match: they go with the tool that they stand for; else with any tool of
        theirs, or with `resources`.
        """
        if known.stands_for:
            return self.find_visible(known.stands_for, caller) is not None
        if self._shows(_names_of_resources(known.origin), caller):
            return True
        own = (entry for entry in self._entries_of(caller) if entry.origin == known.origin)
        return any(self._shows(entry.names, caller) for entry in own)


@lru_cache(maxsize=1_024)
def _names_of_resources(origin: Origin) -> tuple[str, ...]:
    return names.accepted(origin, Tool("resources", b""))


def _absence(known: RegisteredProvider, name: str) -> tuple[tuple[str, ...], ClawftError | None]:
    """Every spelling of a tool of this provider, if `name` is one of them, and why nobody knows whether it has it."""
    own = _own_name(known, name)
    if not own or not isinstance(known.provider, AbsentProvider):
        return (), None
    return names.accepted(known.origin, Tool(own, b"")), known.provider.absence()


def _own_name(known: RegisteredProvider, name: str) -> str:
    """What this provider would call the tool; nothing if the name leads elsewhere."""
    return next((name.removeprefix(head) for head in names.heads(known.origin) if name.startswith(head)), "")


def _is_unknown(known: RegisteredProvider) -> bool:
    return isinstance(known.provider, AbsentProvider) and known.provider.absence() is not None


def _tell(clashes: Sequence[Clash]) -> None:
    for clash in clashes[:MAX_TOLD_CLASHES]:
        log.warning("%s is left out: %s", clash.name, clash.reason)
    if len(clashes) > MAX_TOLD_CLASHES:
        log.warning("%d more are left out", len(clashes) - MAX_TOLD_CLASHES)


def _tools_of(provider: Provider, *, of_server: bool) -> tuple[Tool, ...]:
    """Nothing if the provider cannot say: one that breaks must not hide the tools of the others."""
    listed = listed_by(provider.namespace, "tools", provider.list_tools)
    if of_server:  # each was looked at as it came
        return listed
    tools = tuple(each for each in listed if _is_sound(each))
    if len(tools) < len(listed):
        log.warning("the provider %s lists what is no tool; that is left out", provider.namespace)
    return tools


def _is_sound(listed: object) -> bool:
    try:
        return isinstance(listed, Tool) and bool(listed.name and listed.definition)
    except (TypeError, msgspec.DecodeError):
        return False

"""The tools of all providers: one shared catalog, and beside it those of single people."""

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
from clawft.gateway.offer.guarded_chains import GuardedChains
from clawft.gateway.offer.registered_provider import RegisteredProvider, listed_by
from clawft.guard.pipeline import Pipeline
from clawft.model import Caller, Origin, Tool
from clawft.policy.globs import any_matches
from clawft.provider.base import AbsentProvider, Provider

if TYPE_CHECKING:  # loaded with the first search
    from clawft.gateway.offer.indexes import Indexes

MAX_TOLD_CLASHES = 10
"""How many clashing tool names one log entry lists; further ones are counted."""
_ANYONE = Caller()

log = logging.getLogger("clawft.gateway")


class Tools:
    """The catalog of tools. A caller sees those the guards show; for that caller there are no others."""

    def __init__(self, basis: Basis, pipeline: Pipeline, surface: Surface) -> None:
        self._basis = basis
        self._roster = basis.roster
        self._personal = basis.roster.personal
        self._shows = basis.side_duties.shows
        self._pipeline = pipeline
        self._surface = surface
        self._built: Snapshot | None = None
        self._before = self._shown = NOTHING
        """The catalog built last, and the one a caller saw last."""
        self._indexes: Indexes | None = None

    # ── the catalog ──────────────────────────────────────────────────────────────────────────────────────────────────

    def forget(self, whose: str = "") -> None:
        """Mark the catalog as out of date; it is rebuilt on the next look, however much changes until then.

        `whose` is the proof of the one caller whose catalog it is, if it is not everybody's.
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
        chains = GuardedChains(self._pipeline, known, self._basis.shared)
        tools = _tools_of(self._personal.seen(known.provider, caller), of_server=bool(known.origin.server))
        return ProviderOffer(known.origin, tools, chains.bind, chains.fast_path_of, _is_unknown(known))

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
        """Why the server of the named tool has nothing for this caller; empty if the caller may not see the tool."""
        for known in self._roster:
            own = self._personal.has(known)
            spellings, refusal = self._personal.refusal(known, caller, name) if own else _absence(known, name)
            if refusal is not None and self._shows(spellings, caller):
                return str(refusal)
        return ""

    def arrival(self, name: str, caller: Caller) -> Awaitable[None] | None:
        """Wait for the server of the tool that is meant, if it is still starting and not hidden from this caller."""
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
        """The tool of this name, unless it is hidden from this caller."""
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
        note = self._basis.side_duties.withheld(entry.tool, entry.origin, caller)
        if note:
            return without_words(entry, note)
        shared = self._basis.shared
        spelled = shared.spelled(entry.origin, caller) if shared.any else None
        return entry if spelled is None else with_pages(entry, spelled)

    def listed(self, caller: Caller) -> list[CatalogEntry]:
        """The tools this caller is shown at once; the others it finds by search."""
        return self._surface.listed(self.visible(caller), lambda entry: any_matches(entry.names, self._surface.pinned))

    def search(self, caller: Caller, query: str, limit: int) -> list[CatalogEntry]:
        """The visible tools that match the query best."""
        if self._indexes is None:
            from clawft.gateway.offer.indexes import Indexes  # most callers never search

            self._indexes = Indexes()
        audience = (caller.grant, caller.agent, caller.principal, caller.proof)
        index = self._indexes.of(audience, lambda: without_finders(self.visible(caller)))
        return index.search(query, limit)

    def reaches(self, known: RegisteredProvider, caller: Caller) -> bool:
        """Whether this caller may have the resources of a provider.

        Resources have no names that rules could match. They go with the tool their provider stands for; otherwise with
        any of its tools, or with the name `resources`.
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
    """Every spelling of a tool of this provider, if `name` is one of them, and why its server is absent."""
    own = _own_name(known, name)
    if not own or not isinstance(known.provider, AbsentProvider):
        return (), None
    return names.accepted(known.origin, Tool(own, b"")), known.provider.absence()


def _own_name(known: RegisteredProvider, name: str) -> str:
    """The provider's own name for the tool; empty if the name is not in its namespace."""
    return next((name.removeprefix(head) for head in names.heads(known.origin) if name.startswith(head)), "")


def _is_unknown(known: RegisteredProvider) -> bool:
    return isinstance(known.provider, AbsentProvider) and known.provider.absence() is not None


def _tell(clashes: Sequence[Clash]) -> None:
    for clash in clashes[:MAX_TOLD_CLASHES]:
        log.warning("%s is left out: %s", clash.name, clash.reason)
    if len(clashes) > MAX_TOLD_CLASHES:
        log.warning("%d more are left out", len(clashes) - MAX_TOLD_CLASHES)


def _tools_of(provider: Provider, *, of_server: bool) -> tuple[Tool, ...]:
    """The tools of a provider; none if listing fails, so that the tools of the others are not hidden."""
    listed = listed_by(provider.namespace, "tools", provider.list_tools)
    if of_server:  # each was looked at as it came
        return listed
    tools = tuple(each for each in listed if _is_sound(each))
    if len(tools) < len(listed):
        log.warning("the provider %s lists something that is not a tool; it is left out", provider.namespace)
    return tools


def _is_sound(listed: object) -> bool:
    try:
        return isinstance(listed, Tool) and bool(listed.name and listed.definition)
    except (TypeError, msgspec.DecodeError):
        return False

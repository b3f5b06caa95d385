"""Resolves clashes where several providers list the same resource URI.

The clashes are worked out on the first look after a list has changed. Usually there are none, and then a result costs
one look at an attribute.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from clawft.catalog.holdings import Holdings, Seniority, UriSpelling, is_shared, roots_of
from clawft.gateway.offer.registered_provider import Reaches, RegisteredProvider, has_pages, holds, listed_by
from clawft.gateway.offer.roster import Roster
from clawft.model import Caller, ForeignResource, ForeignTemplate, Origin, Resource, ResourceTemplate

_MAX_GROUPS = 256
_MAX_SPELLED = 4_096
"""How many pairs of a caller and a provider are cached."""
_NO_PAGES: frozenset[str] = frozenset()

OwnerLists = tuple[
    tuple[Resource | ForeignResource, ...], tuple[ResourceTemplate | ForeignTemplate, ...], frozenset[str]
]
"""The resources, the templates, and the pages of tools of one provider."""


class _Seen(Struct, frozen=True):
    """The lists of a provider as they were last seen, and the URIs they amount to."""

    lists: OwnerLists
    held: Holdings


class _Owners:
    """All providers of resources, the oldest first, as one person has them, or as callers without a proof do."""

    def __init__(self, members: Sequence[RegisteredProvider], held: Sequence[Holdings]) -> None:
        self.members = members
        self.held = held
        self._at = {member.origin.namespace: at for at, member in enumerate(members)}
        self._rivals: dict[str, list[tuple[RegisteredProvider, Holdings]]] = {}

    @cached_property
    def is_shared(self) -> bool:
        return is_shared(self.held)

    def in_turn(self, uri: str) -> list[RegisteredProvider]:
        """The providers in the order they are asked: oldest first, but servers that merely may have any URI last."""
        with_held = list(zip(self.members, self.held, strict=True))
        with_held.sort(key=lambda each: bool(each[0].origin.server) and not each[1].may_have(uri))
        return [known for known, _ in with_held]

    def holders(self, uri: str) -> list[RegisteredProvider]:
        return [known for known, held in zip(self.members, self.held, strict=True) if held.may_have(uri)]

    def held_by(self, namespace: str) -> Holdings | None:
        at = self._at.get(namespace)
        return self.held[at] if at is not None else None

    def before(self, namespace: str) -> list[tuple[RegisteredProvider, Holdings]]:
        """Older providers that may have URIs this one has too."""
        rivals = self._rivals.get(namespace)
        if rivals is None:
            at = self._at[namespace]
            own, earlier = self.held[at], zip(self.members[:at], self.held[:at], strict=True)
            rivals = self._rivals[namespace] = [(known, held) for known, held in earlier if held.meets(own)]
        return rivals


class SharedUris:
    """Clashing URIs per caller: providers a caller does not reach do not even influence how a URI is spelled."""

    def __init__(self, roster: Roster, reaches: Reaches) -> None:
        self.any = True
        """False if it is known that no URI is shared."""
        self._roster = roster
        self._reaches = reaches
        self._seen: dict[str, dict[str, _Seen]] = {}
        """Proof of the person → namespace → the lists as last seen."""
        self._groups: dict[str, _Owners] = {}
        self._seniority: dict[str, Seniority] = {}
        self._fresh: set[str] = set()
        """Proofs of the callers whose providers were looked at since anything changed."""
        self._listed: set[str] = set()
        """Proofs of the callers whose providers were looked at since a list of resources changed."""
        self._spelled: dict[Hashable, UriSpelling | None] = {}

    def forget(self, *, resources: bool = True) -> None:
        """Note that something has changed: a list (perhaps of `resources`), the order, or who reaches what."""
        self.any = True
        self._fresh.clear()
        self._spelled.clear()
        if resources:
            self._listed.clear()

    def spelled(self, origin: Origin, caller: Caller) -> UriSpelling | None:
        """How URIs in answers of this provider are spelled for this caller; None if all stay as they are."""
        if not self.any:
            return None
        key = (origin.namespace, caller.grant, caller.agent, caller.principal, caller.proof)
        if key not in self._spelled:
            if len(self._spelled) >= _MAX_SPELLED:
                self._spelled.clear()
            self._spelled[key] = self._work_out(origin, caller)
        return self._spelled[key]

    def _work_out(self, origin: Origin, caller: Caller) -> UriSpelling | None:
        group = self._group(caller)
        own = group.held_by(origin.namespace) if group.is_shared else None
        if own is None:
            return None
        before = tuple(held for known, held in group.before(origin.namespace) if self._reaches(known, caller))
        return UriSpelling(own, before) if before or own.poses else None

    def _group(self, caller: Caller) -> _Owners:
        whose = self._whose(caller)
        return self._groups[whose] if whose in self._fresh else self._look(caller)

    def _whose(self, caller: Caller) -> str:
        return caller.proof if self._roster.personal else ""

    def in_turn(self, uri: str, caller: Caller) -> Sequence[RegisteredProvider]:
        """Providers of resources in the order in which they are asked for a bare URI."""
        return self._group(caller).in_turn(uri)

    def holders(self, uri: str, caller: Caller) -> list[RegisteredProvider]:
        """The reached providers that may have this URI, by what they list."""
        return [known for known in self._group(caller).holders(uri) if self._reaches(known, caller)]

    def has_pages(self) -> bool:
        """Whether any provider has tools that are shown with a page."""
        providers = (known.provider for known in self._roster)
        return any(has_pages(provider) and provider.pages for provider in providers)

    def look(self, caller: Caller) -> None:
        """Read all lists anew: not every provider reports its changes."""
        self._listed.discard(self._whose(caller))
        self._look(caller)

    def _look(self, caller: Caller) -> _Owners:
        whose = self._whose(caller)
        members = {known.origin.namespace: known for known in self._roster.of(caller) if holds(known.provider)}
        earlier, listed = self._seen.get(whose, {}), whose in self._listed
        seen = {name: _look_at(known, earlier.get(name), listed=listed) for name, known in members.items()}
        group = self._gather(whose, members, {name: each.held for name, each in seen.items()})
        self._seen[whose] = seen
        self._fresh.add(whose)
        self._listed.add(whose)
        self.any = group.is_shared or bool(self._roster.personal)
        return group

    def _gather(self, whose: str, members: Mapping[str, RegisteredProvider], held: Mapping[str, Holdings]) -> _Owners:
        """The providers in the order of their age; the same object as before if nothing changed."""
        seniority = self._seniority.setdefault(whose, Seniority())
        seniority.look(held)
        oldest_first = sorted(members, key=seniority.__getitem__)
        found = _Owners([members[name] for name in oldest_first], [held[name] for name in oldest_first])
        group = self._groups.get(whose)
        if group is not None and group.members == found.members and _are_same(group.held, found.held):
            return group
        if group is not None:
            self.forget(resources=False)  # nobody may have told
        return self._keep(whose, found)

    def _keep(self, whose: str, group: _Owners) -> _Owners:
        if len(self._groups) >= _MAX_GROUPS:
            self._groups.clear()
            self._seniority.clear()
            self._fresh.clear()
            self._seen.clear()
        self._groups[whose] = group
        return group


def _look_at(known: RegisteredProvider, earlier: _Seen | None, *, listed: bool) -> _Seen:
    """The lists of a provider; the same object as before if they are equal, so that what was derived from it stays
    valid.

    Servers have their lists ready. Other providers may have to build theirs, which is not done twice: see `listed`.
    """
    if earlier is not None and listed and not known.origin.server:
        return earlier
    lists = _lists_of(known)
    if earlier is not None and _are_same(earlier.lists, lists):
        return earlier
    resources, templates, pages = lists
    uris = listed_by(known.owner, "resources", lambda: [str(item.uri) for item in resources])
    roots = roots_of(listed_by(known.owner, "templates", lambda: [str(item.uri_template) for item in templates]))
    held = Holdings(known.owner, pages.union(uris), roots)
    return _Seen(lists, earlier.held if earlier is not None and earlier.held == held else held)


def _lists_of(known: RegisteredProvider) -> OwnerLists:
    provider = known.provider
    if not holds(provider):
        return (), (), _NO_PAGES
    return (
        listed_by(known.owner, "resources", provider.list_resources),
        listed_by(known.owner, "templates", provider.list_templates),
        provider.pages if has_pages(provider) else _NO_PAGES,
    )


def _are_same(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))

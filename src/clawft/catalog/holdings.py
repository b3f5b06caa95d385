"""The resources each owner may have, and the spelling of a URI that several of them may have. Pure.

A bare URI belongs to the first owner that may have it: one that lists it, or has a template that begins like it. The
same URI of any later owner is wrapped wherever that owner names it. `Seniority` decides who is first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, count, pairwise

from msgspec import Struct

from clawft.catalog.uris import PREFIX, wrap

_LAST = chr(0x10FFFF)


def root_of(template: str) -> str:
    """The literal beginning of a URI template."""
    return template.partition("{")[0]


def roots_of(templates: Iterable[str]) -> tuple[str, ...]:
    """How all begins that these templates can stand for, in order; none begins with another: one look finds which fits.

    A template that stands for URIs of every kind claims none of them: `{+uri}` is whatever nobody else has.
    """
    roots: list[str] = []
    for root in sorted({root for root in map(root_of, templates) if ":" in root}):
        if not roots or not root.startswith(roots[-1]):
            roots.append(root)
    return tuple(roots)


class Holdings(Struct, frozen=True, dict=True):
    """The holdings of one owner: the resources it lists, and the roots of its templates."""

    owner: str
    uris: frozenset[str] = frozenset()
    roots: tuple[str, ...] = ()

    @cached_property
    def in_order(self) -> list[str]:
        return sorted(self.uris)

    @cached_property
    def poses(self) -> bool:
        """Whether it has URIs that look as if we had wrapped them."""
        return _under(self.in_order, PREFIX) > 0 or _under(self.roots, PREFIX) > 0

    def may_have(self, uri: str) -> bool:
        return uri in self.uris or _begins(self.roots, uri)

    def may_have_below(self, root: str) -> bool:
        return _begins(self.roots, root) or _under(self.roots, root) > 0 or _under(self.in_order, root) > 0

    def beyond(self, earlier: Holdings) -> Holdings:
        """The present holdings without those in `earlier`."""
        uris = frozenset(uri for uri in self.uris - earlier.uris if not _begins(earlier.roots, uri))
        return Holdings(self.owner, uris, tuple(root for root in self.roots if not _begins(earlier.roots, root)))

    def meets(self, other: Holdings) -> bool:
        """Whether there is a URI that both may have."""
        return (
            not self.uris.isdisjoint(other.uris)
            or _reach(self.roots, other.in_order)
            or _reach(other.roots, self.in_order)
            or _reach(self.roots, other.roots)
            or _reach(other.roots, self.roots)
        )


def is_shared(everybody: Sequence[Holdings]) -> bool:
    """Whether anything may belong to two of them, or looks as if. One look at all, and not at each pair."""
    different = len(frozenset[str]().union(*(each.uris for each in everybody)))
    if sum(len(each.uris) for each in everybody) > different or any(each.poses for each in everybody):
        return True
    roots = sorted(root for each in everybody for root in each.roots)
    if any(after.startswith(before) for before, after in pairwise(roots)):
        return True
    in_order = sorted(chain.from_iterable(each.in_order for each in everybody)) if roots else []
    return any(
        _under(in_order, root) > _under(each.in_order, root)  # those of others
        for each in everybody
        for root in each.roots
    )


class Seniority:
    """In which order owners came to have what they have, so that nobody takes what was another's by coming later."""

    def __init__(self) -> None:
        self._numbers = count()
        self._since: dict[str, int] = {}
        self._had: dict[str, Holdings] = {}

    def look(self, held: Mapping[str, Holdings]) -> None:
        """Update the order. Owners that come together, or have nothing in common, keep the order they are named in."""
        self._since = {name: since for name, since in self._since.items() if name in held}
        self._had = {name: had for name, had in self._had.items() if name in held}
        for name, now in held.items():
            had = self._had.get(name)
            if had is not now and (had is None or self._takes(name, now.beyond(had))):
                self._since[name] = next(self._numbers)
        self._had = dict(held)

    def _takes(self, name: str, gained: Holdings) -> bool:
        return any(gained.meets(had) for other, had in self._had.items() if other != name)

    def __getitem__(self, name: str) -> int:
        return self._since[name]


class UriSpelling(Struct, frozen=True):
    """How what an owner names is spelled for somebody who also reaches those before it."""

    own: Holdings
    before: tuple[Holdings, ...] = ()

    def __call__(self, uri: str) -> str:
        """The URI, wrapped if an earlier owner may have it too. One that the owner does not have stays as it is."""
        if not self.own.may_have(uri):
            return uri
        taken = uri.startswith(PREFIX) or any(each.may_have(uri) for each in self.before)
        return wrap(self.own.owner, uri) if taken else uri

    def template(self, template: str) -> str:
        """Wrapped as soon as anything it can stand for is another's: nobody knows what will be put in."""
        root = root_of(template)
        taken = root.startswith(PREFIX) or any(each.may_have_below(root) for each in self.before)
        return wrap(self.own.owner, template) if taken else template


def _begins(roots: Sequence[str], uri: str) -> bool:
    """Whether the URI begins with one of these roots."""
    at = bisect_right(roots, uri)
    return at > 0 and uri.startswith(roots[at - 1])


def _under(in_order: Sequence[str], root: str) -> int:
    """How many begin with this root."""
    return bisect_left(in_order, root + _LAST) - bisect_left(in_order, root)


def _reach(roots: Sequence[str], in_order: Sequence[str]) -> bool:
    """Whether any of these begins with one of the roots. The shorter of the two lists is gone through."""
    if len(roots) <= len(in_order):
        return any(_under(in_order, root) for root in roots)
    return any(_begins(roots, uri) for uri in in_order)

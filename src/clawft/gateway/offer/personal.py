"""Providers whose tools differ from person to person, and the catalogs of those callers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator

from clawft.catalog import names
from clawft.catalog.names import NameForm
from clawft.catalog.snapshot import Snapshot
from clawft.errors import ClawftError
from clawft.gateway.offer.registered_provider import RegisteredProvider
from clawft.model import Caller, Tool
from clawft.model.protocols import is_of
from clawft.policy.grant import may_see_some
from clawft.provider.base import PersonalProvider, Provider

_MAX_BUILT = 256


class PersonalOffers:
    """The personal providers. Usually there are none, and then nothing is asked of this object."""

    def __init__(self, form: NameForm) -> None:
        self._form = form
        self._providers: dict[str, PersonalProvider] = {}
        self._heads: dict[str, tuple[str, ...]] = {}
        """Namespace → how the names of its tools begin."""
        self._built: dict[str, Snapshot] = {}
        """Proof of a caller → the catalog built for that caller."""

    def __bool__(self) -> bool:
        return bool(self._providers)

    def add(self, known: RegisteredProvider) -> None:
        if is_of(known.provider, PersonalProvider):
            self._providers[known.origin.namespace] = known.provider
            self._heads[known.origin.namespace] = names.accepted(known.origin, Tool("", b""))

    def remove(self, namespace: str) -> None:
        self._providers.pop(namespace, None)
        self._heads.pop(namespace, None)

    def has(self, known: RegisteredProvider) -> bool:
        return known.origin.namespace in self._providers

    def seen(self, provider: Provider, caller: Caller) -> Provider:
        """The provider as this caller has it: the same for all, unless it is personal and knows the caller."""
        personal = self._providers.get(provider.namespace)
        return provider if personal is None else personal.of(caller) or provider

    def all_seen(self, known: Iterable[RegisteredProvider], caller: Caller) -> Iterator[RegisteredProvider]:
        for each in known:
            seen = self.seen(each.provider, caller)
            yield each if seen is each.provider else RegisteredProvider(seen, each.origin)

    def snapshot(self, caller: Caller, build: Callable[[], Snapshot]) -> Snapshot:
        """The catalog of this caller's own tools, built on the first look."""
        built = self._built.get(caller.proof)
        if built is None:
            if len(self._built) >= _MAX_BUILT:
                self._built.clear()
            built = self._built[caller.proof] = build()
        return built

    def forget(self, whose: str) -> None:
        """Drop the catalog of the caller with this proof, or of all callers."""
        if whose:
            self._built.pop(whose, None)
        else:
            self._built.clear()

    def settle(self, caller: Caller) -> Awaitable[object]:
        """Wait until it is known what this caller has. Servers of which they may see nothing are not contacted."""
        met = (provider for namespace, provider in self._providers.items() if self._may_see(namespace, caller))
        return asyncio.gather(*(provider.ready(caller) for provider in met))

    def _may_see(self, namespace: str, caller: Caller) -> bool:
        """Whether the grant shows anything of this namespace. Bare names do not tell, so there it may."""
        return self._form is NameForm.BARE or may_see_some(self._heads[namespace], caller.grant)

    def refusal(
        self, known: RegisteredProvider, caller: Caller, name: str
    ) -> tuple[tuple[str, ...], ClawftError | None]:
        """Every spelling of a tool of this provider, if `name` is one of them, and why the caller lacks it."""
        personal = self._providers.get(known.origin.namespace)
        tool = Tool(name.partition(f"{known.owner}__")[2], b"")
        spellings = names.accepted(known.origin, tool) if personal is not None and tool.name else ()
        return (spellings, personal.refusal(caller)) if personal is not None and name in spellings else ((), None)

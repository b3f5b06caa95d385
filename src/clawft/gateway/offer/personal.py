"""Providers that have something else for each person, and what single callers have of them."""

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
    """Empty for nearly everybody, and then asked nothing."""

    def __init__(self, form: NameForm) -> None:
        self._form = form
        self._providers: dict[str, PersonalProvider] = {}
        self._heads: dict[str, tuple[str, ...]] = {}
        """By namespace: how the names of its tools begin."""
        self._built: dict[str, Snapshot] = {}
        """By proof: what single people have."""

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
        """What this caller has, built when somebody looks."""
        built = self._built.get(caller.proof)
        if built is None:
            if len(self._built) >= _MAX_BUILT:
                self._built.clear()
            built = self._built[caller.proof] = build()
        return built

    def forget(self, whose: str) -> None:
        """It is out of date: for the caller with this proof, or for all."""
        if whose:
            self._built.pop(whose, None)
        else:
            self._built.clear()

    def settle(self, caller: Caller) -> Awaitable[object]:
        """Back when it is known what this caller has of its own. A server they see nothing of does not meet them."""
        met = (provider for namespace, provider in self._providers.items() if self._may_see(namespace, caller))
        return asyncio.gather(*(provider.ready(caller) for provider in met))

    def _may_see(self, namespace: str, caller: Caller) -> bool:
        """Bare names do not tell whose they are."""
        return self._form is NameForm.BARE or may_see_some(self._heads[namespace], caller.grant)

    def refusal(
        self, known: RegisteredProvider, caller: Caller, name: str
    ) -> tuple[tuple[str, ...], ClawftError | None]:
        """Every spelling of a tool of this provider, if `name` is one of them, and why the caller does not have it."""
        personal = self._providers.get(known.origin.namespace)
        tool = Tool(name.partition(f"{known.owner}__")[2], b"")
        spellings = names.accepted(known.origin, tool) if personal is not None and tool.name else ()
        return (spellings, personal.refusal(caller)) if personal is not None and name in spellings else ((), None)

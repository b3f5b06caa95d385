"""The ordered list of all providers, and the view each caller has of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from clawft.catalog.names import NameForm
from clawft.errors import InvalidConfig
from clawft.gateway.offer.personal import PersonalOffers
from clawft.gateway.offer.registered_provider import RegisteredProvider
from clawft.model import Caller
from clawft.provider.base import Provider


class Roster:
    """All offered providers, one for each namespace."""

    def __init__(self, form: NameForm) -> None:
        self.personal = PersonalOffers(form)
        """The providers that differ from person to person."""
        self._known: dict[str, RegisteredProvider] = {}

    def __iter__(self) -> Iterator[RegisteredProvider]:
        return iter(self._known.values())

    def add(self, known: RegisteredProvider) -> None:
        """Add a provider. Raises InvalidConfig if its namespace is taken."""
        namespace = known.origin.namespace
        if namespace in self._known:
            raise InvalidConfig(f"there is already a provider for the namespace {namespace!r}")
        self._known[namespace] = known
        self.personal.add(known)

    def remove(self, namespace: str) -> RegisteredProvider | None:
        self.personal.remove(namespace)
        return self._known.pop(namespace, None)

    def arrange(self, namespaces: Sequence[str]) -> None:
        """Move the providers of these namespaces to the end, in this order."""
        for namespace in namespaces:
            self._known[namespace] = self._known.pop(namespace)

    def of(self, caller: Caller) -> Iterable[RegisteredProvider]:
        """All providers as this caller has them."""
        return self.personal.all_seen(self, caller) if self.personal else self

    def provider(self, namespace: str, caller: Caller) -> Provider | None:
        known = self._known.get(namespace)
        return self.personal.seen(known.provider, caller) if known is not None else None

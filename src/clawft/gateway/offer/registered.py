"""A provider that is offered, and where it comes from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from msgspec import Struct

from clawft.guard.pipeline import Use
from clawft.model import Caller, Origin
from clawft.provider.base import Provider


class Registered(Struct, frozen=True):
    provider: Provider
    origin: Origin

    @property
    def owner(self) -> str:
        """The server behind it, or its namespace: how people call it."""
        return self.origin.server or self.origin.namespace


Ensure = Callable[[Use], Awaitable[None]]
"""Raises NotApproved for what a person has to approve first."""
Passing = Callable[[str, Origin, bytes], Awaitable[bytes]]
"""What somebody's resource or prompt says, as the guards let it pass; the text names it. Raises TooLarge."""
ProvidersOf = Callable[[Caller], Iterable[Registered]]
"""All providers, as this caller has them."""
Reaches = Callable[[Registered, Caller], bool]
"""May this caller have what a provider has beside its tools and prompts? What it may not have does not exist."""

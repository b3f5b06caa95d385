"""A provider that is offered, and where it comes from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import cached_property

from msgspec import Struct

from clawft.guard.pipeline import Use
from clawft.model import Caller, Next, Origin, Start
from clawft.provider.base import Provider, StartingProvider, end_of


class Registered(Struct, frozen=True, dict=True):
    """What it can do is found out once: to ask whether a provider is of some kind takes longer than many a call."""

    provider: Provider
    origin: Origin

    @cached_property
    def end(self) -> Next:
        """How its tools are called."""
        return end_of(self.provider)

    @cached_property
    def start(self) -> Start | None:
        """How a call is sent on its way, by one that can."""
        return self.provider.start if isinstance(self.provider, StartingProvider) else None

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

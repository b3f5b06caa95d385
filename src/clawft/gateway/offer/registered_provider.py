"""A provider as the gateway offers it: its origin, its kind, and safe access to its lists."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeGuard, TypeVar

from msgspec import Struct

from clawft.model import Caller, Next, Origin, StartCall
from clawft.model.protocols import is_of
from clawft.provider.base import (
    PageProvider,
    Provider,
    ResourceProvider,
    StartingProvider,
    SubstituteProvider,
    WatchedProvider,
    end_of,
)

T = TypeVar("T")
log = logging.getLogger("clawft.gateway")


class RegisteredProvider(Struct, frozen=True, dict=True):
    """A provider with its origin. Which kind it is of is found out once, as that takes longer than many a call."""

    provider: Provider
    origin: Origin

    @cached_property
    def end(self) -> Next:
        """The last step of a call to any of its tools."""
        return end_of(self.provider)

    @cached_property
    def start(self) -> StartCall | None:
        """How a call is started without an asyncio task, where the provider can do that."""
        return self.provider.start if is_of(self.provider, StartingProvider) else None

    @cached_property
    def stands_for(self) -> str:
        """The tool whose visibility decides about its prompts and resources; empty if any of its own tools does."""
        return self.provider.stands_for if is_of(self.provider, SubstituteProvider) else ""

    @property
    def owner(self) -> str:
        """The name people know it by: its server, or its namespace."""
        return self.origin.server or self.origin.namespace


Reaches = Callable[[RegisteredProvider, Caller], bool]
"""Whether this caller may have a provider's resources; what it may not have does not exist for it."""


def holds(provider: object) -> TypeGuard[ResourceProvider]:
    return is_of(provider, ResourceProvider)


def has_pages(provider: object) -> TypeGuard[PageProvider]:
    return is_of(provider, PageProvider)


def tells(provider: object) -> TypeGuard[WatchedProvider]:
    return is_of(provider, WatchedProvider)


def listed_by(owner: str, things: str, ask: Callable[[], Sequence[T]]) -> tuple[T, ...]:
    """The list a provider gives; empty if the provider fails, so that the lists of the others are not hidden."""
    try:
        return tuple(ask())
    except (Exception, SystemExit):
        log.exception("the provider %s could not list its %s", owner, things)
        return ()

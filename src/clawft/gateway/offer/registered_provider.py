"""A provider that is offered: where it comes from, what kind it is of, and what it says that it has."""

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
    """What it can do is found out once: to ask whether a provider is of some kind takes longer than many a call."""

    provider: Provider
    origin: Origin

    @cached_property
    def end(self) -> Next:
        """How its tools are called."""
        return end_of(self.provider)

    @cached_property
    def start(self) -> StartCall | None:
        """How a call is started without a task, where the provider can."""
        return self.provider.start if is_of(self.provider, StartingProvider) else None

    @cached_property
    def stands_for(self) -> str:
        """The tool that decides who may have what it offers beside tools; empty if any tool of its own does."""
        return self.provider.stands_for if is_of(self.provider, SubstituteProvider) else ""

    @property
    def owner(self) -> str:
        """The server behind it, or its namespace: how people call it."""
        return self.origin.server or self.origin.namespace


Reaches = Callable[[RegisteredProvider, Caller], bool]
"""May this caller have what a provider has beside its tools and prompts? What it may not have does not exist."""


def holds(provider: object) -> TypeGuard[ResourceProvider]:
    return is_of(provider, ResourceProvider)


def has_pages(provider: object) -> TypeGuard[PageProvider]:
    return is_of(provider, PageProvider)


def tells(provider: object) -> TypeGuard[WatchedProvider]:
    return is_of(provider, WatchedProvider)


def listed_by(owner: str, things: str, ask: Callable[[], Sequence[T]]) -> tuple[T, ...]:
    """Nothing if it breaks while it is asked, so that what the others have is not hidden."""
    try:
        return tuple(ask())
    except (Exception, SystemExit):
        log.exception("the provider %s could not list its %s", owner, things)
        return ()

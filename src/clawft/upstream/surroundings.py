"""The parts of the program around it that an upstream needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from clawft.link.base import Link
from clawft.upstream.offer.lists import Parts
from clawft.upstream.offer.room import Room
from clawft.upstream.slots import Slots
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.jsonrpc.messages import Notification, Request

if TYPE_CHECKING:
    from clawft.upstream.upstream import Upstream


class Surroundings(Protocol):
    """How to reach the server, a slot for it, answers to its requests, and who hears of its changes."""

    @property
    def slots(self) -> Slots: ...

    @property
    def room(self) -> Room:
        """For what it offers."""
        ...

    async def link_to(self, spec: UpstreamSpec) -> list[Callable[[], Link]]:
        """GuardedChains to reach it, best first; later ones are tried when a server refuses the earlier.

        Raises SpawnFailed for one that may not be started.
        """
        ...

    def roots(self) -> list[Mapping[str, Any]]:
        """The folders a server is told of where no agent has any to give."""
        ...

    async def answer_request(self, upstream: Upstream, request: Request, stream: int | None) -> Mapping[str, Any]:
        """The answer to a question of the server's; raises JsonRpcFailure to refuse it."""
        ...

    def lists_changing(self, upstream: Upstream, reading: asyncio.Task[None]) -> None:
        """The server says that its lists have changed; `reading` reads them again."""
        ...

    def offer_changed(self, upstream: Upstream, parts: Parts) -> None: ...

    def state_changed(self, upstream: Upstream) -> None: ...

    def on_notification(self, upstream: Upstream, notification: Notification, stream: int | None) -> None: ...

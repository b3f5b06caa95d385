"""The subscriptions of one caller of the handshake era. Loaded with the first subscription."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec
from msgspec import Raw

from clawft.errors import BadParams
from clawft.gateway.core import Gateway
from clawft.gateway.offer.resources import Reader
from clawft.gateway.talk import Outlet
from clawft.wire.jsonrpc import writing
from clawft.wire.visible import make_visible

MAX_SUBSCRIPTIONS = 1_000

Release = Callable[[], None]


class WatchedResources:
    """By their URI; `session_outlet` is where their changes are told."""

    def __init__(self, gateway: Gateway, session_outlet: Outlet) -> None:
        self._gateway = gateway
        self._session_outlet = session_outlet
        self._releases: dict[str, Release] = {}

    async def add(self, uri: str, by: Reader) -> None:
        """Returns when whoever has the resource knows of it."""
        if uri in self._releases:
            return
        if len(self._releases) >= MAX_SUBSCRIPTIONS:
            raise BadParams(f"at most {MAX_SUBSCRIPTIONS} subscriptions in one session")
        self._releases[uri] = placeholder = partial(_nothing)  # of this very request
        try:
            resources = self._gateway.resources
            await self._gateway.pending.wait_for_servers_unless(lambda: resources.has(uri, by.caller), by.caller)
            release = await resources.watch(uri, by, self._updated)
        except BaseException:
            if self._releases.get(uri) is placeholder:
                del self._releases[uri]
            raise
        if self._releases.get(uri) is placeholder:
            self._releases[uri] = release
        else:  # unsubscribed, or gone, while we asked
            release()

    def remove(self, uri: str) -> None:
        self._releases.pop(uri, _nothing)()

    def close(self) -> None:
        while self._releases:
            self._releases.popitem()[1]()

    def _updated(self, uri: str, more: Mapping[str, Raw]) -> None:
        params = make_visible(msgspec.json.encode({"uri": uri, **more}))
        self._session_outlet.send(writing.notification("notifications/resources/updated", params))


def _nothing() -> None:
    pass

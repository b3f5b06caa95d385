"""A handshake-era server and what we want to hear: subscriptions one by one, and a log level for the session."""

from __future__ import annotations

import logging

from clawft.errors import METHOD_NOT_FOUND, ClawftError, JsonRpcFailure
from clawft.upstream.interest.interest import Interest
from clawft.upstream.session.session import Session

log = logging.getLogger("clawft.upstream")


class Subscriptions:
    """The subscriptions that this session's server was told so far."""

    def __init__(self, session: Session, interest: Interest) -> None:
        self._session = session
        self._interest = interest
        self._uris: set[str] = set()
        self._level = ""

    async def tell(self) -> bool:
        """Only what has changed since. True, as each request has an end."""
        await self._tell_level()
        wanted = self._interest.resources.names
        for uri in sorted(wanted - self._uris):
            await self._subscribe(uri)
        for uri in sorted(self._uris - wanted):
            self._uris.discard(uri)
            self._interest.refused.pop(uri, None)
            await self._ask("resources/unsubscribe", uri=uri)
        return True

    async def wait(self, version: int) -> None:
        await self._interest.change_after(version)

    async def _subscribe(self, uri: str) -> None:
        self._uris.add(uri)
        self._interest.refused.pop(uri, None)
        wrong = _NO_SUBSCRIPTIONS
        if self._session.peer.declares("resources", "subscribe"):
            wrong = await self._ask("resources/subscribe", uri=uri)
        if wrong is not None:
            self._interest.refused[uri] = wrong

    async def _tell_level(self) -> None:
        level = self._interest.level
        if level and level != self._level and self._session.peer.supports("logging"):
            self._level = level
            await self._ask("logging/setLevel", level=level)

    async def _ask(self, method: str, **members: str) -> ClawftError | None:
        """Why not, if not."""
        try:
            await self._session.request(method, members)
        except ClawftError as refused:
            log.info("%s was refused: %s", method, refused)
            return refused
        return None


_NO_SUBSCRIPTIONS = JsonRpcFailure(METHOD_NOT_FOUND, "the server does not report changes of its resources")

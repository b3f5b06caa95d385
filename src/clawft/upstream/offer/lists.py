"""The offer of one server, as we know it: from the cache before it is up, from itself afterwards."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable

from clawft.errors import ClawftError
from clawft.model import Era, Tool
from clawft.upstream.offer.cache import SchemaCache, fingerprint
from clawft.upstream.offer.room import SHARE_BYTES, RoomPlace
from clawft.upstream.offer.server_offer import NOTHING, PARTS, ServerOffer, ask, recalled, written
from clawft.upstream.session.session import Session
from clawft.upstream.spec import UpstreamSpec

DEBOUNCE_SECONDS = 0.05
RELIST_SECONDS = 1.0
"""The least between two readings of the lists of a server that changes them all the time; more for long ones."""

LIST_CHANGED = {
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
}

Parts = frozenset[str]
"""The server's lists that differ from before."""

log = logging.getLogger("clawft.upstream")


class Lists:
    """Readers never wait and never see half a list; `changed` is told when there is something new to see."""

    def __init__(
        self, spec: UpstreamSpec, cache: SchemaCache, changed: Callable[[Parts], None], place: RoomPlace
    ) -> None:
        self._spec = spec
        self._cache = cache
        self._changed = changed
        self._place = place
        self._asking = asyncio.Lock()
        self._asked = -math.inf
        """When they were read again the last time: a change that comes soon after the start is read at once."""
        self._stale = False
        known = cache.get(spec)
        self.offer: ServerOffer | None = None if known is None else recalled(known, spec.name, place)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.offer.tools if self.offer is not None else ()

    @property
    def era(self) -> Era | None:
        """The era that the server spoke when it answered last."""
        return self.offer.era if self.offer is not None else None

    def is_fresh(self) -> bool:
        return self._cache.is_fresh(self._spec)

    async def ask(self, session: Session) -> None:
        """Everything anew, swapped in one step; the house hears of it only if it differs."""
        async with self._asking:
            before = self.offer
            self.offer = offer = await ask(session, self._spec.name, self._place, before or NOTHING)
            self._cache.put(self._spec, written(offer, fingerprint(self._spec), time.time()))
        if not offer.tools:
            log.info("%s: it has no tools", self._spec.name)
        parts = _differing(before or NOTHING, offer)
        if parts or before is None:
            self._changed(parts)

    def invalidate(self) -> bool:
        """Note that the lists have changed. True if someone must ask again; a flood of such news is one."""
        self._cache.invalidate(self._spec.name)
        first, self._stale = not self._stale, True
        return first

    async def ask_again(self, session: Session) -> None:
        """After a moment, as changes come in groups. Never raises for what the server does."""
        await asyncio.sleep(max(self._asked + self._pause - time.monotonic(), DEBOUNCE_SECONDS))
        self._stale = False
        try:
            await self.ask(session)
        except ClawftError as failed:
            log.warning("%s: its lists could not be read again: %s", self._spec.name, failed)
        self._asked = time.monotonic()

    @property
    def _pause(self) -> float:
        """The least between two readings: the longer, the more there is to read."""
        heard = self.offer.heard if self.offer is not None else 0
        return RELIST_SECONDS * (1 + heard / SHARE_BYTES)

    def settle(self) -> None:
        """The session is over: whoever was to ask again will not."""
        self._stale = False

    def leave(self) -> None:
        """The server is gone for good: what it offered takes no room any more, and nobody hears of changes."""
        self._place.leave()
        self._changed = _unheard


class NoLists:
    """Of a session beside the one whose lists are offered: it is asked only for what its calls need."""

    offer: ServerOffer | None = None
    tools: tuple[Tool, ...] = ()

    def __init__(self, spec: UpstreamSpec, cache: SchemaCache) -> None:
        self._spec = spec
        self._cache = cache

    @property
    def era(self) -> Era | None:
        known = self._cache.era(self._spec)
        return Era(known) if known is not None else None

    def is_fresh(self) -> bool:
        return True

    async def ask(self, session: Session) -> None:
        if session.mirrors_arguments:
            await session.list_tools()

    def invalidate(self) -> bool:
        return False

    async def ask_again(self, session: Session) -> None:
        await self.ask(session)

    def settle(self) -> None:
        pass

    def leave(self) -> None:
        pass


def _unheard(parts: Parts) -> None:
    pass


def _differing(before: ServerOffer, after: ServerOffer) -> Parts:
    """Other instructions are other tools: an approval of theirs holds for what the model was told, all of it."""
    parts = [part for part in PARTS if getattr(before, part) != getattr(after, part)]
    return frozenset(parts if before.instructions == after.instructions else [*parts, "tools"])

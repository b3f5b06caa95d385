"""One subscription for list changes, held for as long as a stateless server is connected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from clawft.errors import LinkError, ProtocolFailure, WireError
from clawft.model import Era
from clawft.upstream.peer import Peer
from clawft.upstream.session import Session
from clawft.wire.jsonrpc import Failure

AGAIN_SECONDS = 1.0
LONGEST_AGAIN_SECONDS = 60.0

log = logging.getLogger("clawft.upstream")

_FILTERS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


def wanted_from(peer: Peer) -> dict[str, bool]:
    """The changes this server says it will tell of."""
    if peer.era is not Era.STATELESS:
        return {}
    return {name: True for part, name in _FILTERS.items() if _declares(peer.capabilities.get(part))}


def _declares(capability: object) -> bool:
    return isinstance(capability, Mapping) and capability.get("listChanged") is True  # pyright: ignore[reportUnknownMemberType]  # any JSON


async def listen(session: Session, missed: Callable[[], None]) -> None:
    """Subscribe, and again when the stream ends; `missed` is told then, as changes may have gone by unheard."""
    wanted = wanted_from(session.peer)
    pause = AGAIN_SECONDS
    while wanted and await _listen_once(session, {"notifications": wanted}):
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_AGAIN_SECONDS)
        missed()


async def _listen_once(session: Session, members: Mapping[str, Any]) -> bool:
    """False if the server will not have it."""
    try:
        answer = await session.link.request(session.outgoing("subscriptions/listen", members))
        if isinstance(answer, Failure):
            log.info("a subscription was refused: %s", answer.read())
            return False
    except (LinkError, WireError, ProtocolFailure) as broken:
        log.debug("a subscription broke off: %s", broken)
    return True

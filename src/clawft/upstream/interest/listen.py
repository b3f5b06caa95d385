"""A stateless server and what we want to hear: one subscription, replaced as a whole when that changes.

The new one is acknowledged before the old one ends, so that nothing is missed in between.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from clawft.errors import METHOD_NOT_FOUND, JsonRpcFailure, LinkError, ProtocolFailure, WireError
from clawft.upstream.interest.interest import Interest
from clawft.upstream.session.peer import Peer
from clawft.upstream.session.session import Session
from clawft.wire import meta as metas
from clawft.wire.jsonrpc.messages import Failure

AGAIN_SECONDS = 1.0
LONGEST_AGAIN_SECONDS = 60.0
ACKNOWLEDGE_SECONDS = 5.0

log = logging.getLogger("clawft.upstream")

_LISTS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


def wanted_from(peer: Peer, interest: Interest) -> dict[str, Any]:
    """The changes this server says it will tell of, as far as someone cares."""
    wanted: dict[str, Any] = {name: True for part, name in _LISTS.items() if peer.declares(part, "listChanged")}
    if interest.resources and peer.declares("resources", "subscribe"):
        wanted["resourceSubscriptions"] = sorted(interest.resources.names)
    if interest.tasks and metas.TASKS in peer.extensions:
        wanted["taskIds"] = sorted(interest.tasks.names)
    return wanted


class ListenStream:
    def __init__(self, session: Session, interest: Interest, missed: Callable[[], None]) -> None:
        """`missed` is told when the stream was lost, as changes may have gone by unheard."""
        self._session = session
        self._interest = interest
        self._missed = missed
        self._filter: dict[str, Any] = {}
        self._stream: asyncio.Task[bool] | None = None
        self._opened = 0.0
        self._pauses = AgainPauses()
        self._heard = True

    async def tell(self) -> bool:
        """Whether the server has said anything about it: yes, no, or what it will tell of."""
        wanted = wanted_from(self._session.peer, self._interest)
        if wanted != self._filter:
            self._heard = await self._replace(wanted)
        self._note_refused()
        return self._heard

    async def _replace(self, wanted: dict[str, Any]) -> bool:
        old, self._filter = self._stream, wanted
        acknowledged = self._interest.expect()
        heard = True
        self._opened = time.monotonic()
        self._stream = asyncio.get_running_loop().create_task(self._listen(wanted)) if wanted else None
        if self._stream is not None:
            done, _ = await asyncio.wait(
                {acknowledged, self._stream}, timeout=ACKNOWLEDGE_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            heard = bool(done)
        self._honoured = _read_honoured(acknowledged.result()) if acknowledged.done() else None
        if old is not None:
            old.cancel()
        return heard

    def _note_refused(self) -> None:
        """Resources that the subscription did not take in."""
        honoured = _uris_in(self._filter) if self._honoured is None else self._honoured & _uris_in(self._filter)
        self._interest.refused = {uri: _NOT_TOLD for uri in self._interest.resources.names if uri not in honoured}

    async def wait(self, version: int) -> None:
        """Until what is wanted changes, or the stream ends and has to be opened again."""
        changed = asyncio.ensure_future(self._interest.change_after(version))
        try:
            await asyncio.wait({changed, *_some(self._stream)}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
        if self._stream is not None and self._stream.done():
            await self._again(await self._stream)

    async def _again(self, worth_it: bool) -> None:
        self._stream = None
        if not worth_it:
            return  # refused: the same will be refused again, something else may not
        held = time.monotonic() - self._opened
        self._session.broken_streams += held < LONGEST_AGAIN_SECONDS
        await asyncio.sleep(self._pauses.after(held))
        self._filter = {}
        self._missed()

    async def _listen(self, wanted: dict[str, Any]) -> bool:
        """Until the stream ends. False if the server will not have it."""
        try:
            outgoing = self._session.outgoing("subscriptions/listen", {"notifications": wanted})
            answer = await self._session.link.request(outgoing)
            if isinstance(answer, Failure):
                log.info("a subscription was refused: %s", answer.read())
                return False
        except (LinkError, WireError, ProtocolFailure) as broken:
            log.debug("a subscription broke off: %s", broken)
        return True

    async def close(self) -> None:
        stream, self._stream = self._stream, None  # it holds us by how it ended
        for each in _some(stream):
            each.cancel()
            await asyncio.gather(each, return_exceptions=True)

    _honoured: frozenset[str] | None = None
    """The resources that the server has acknowledged; None if it did not say."""


class AgainPauses:
    """Before a stream that ended is opened again: each longer than the last, unless the stream has held for long. Some
    proxies end every one of them after a while, and what changes meanwhile is heard of late.
    """

    def __init__(self) -> None:
        self._next = AGAIN_SECONDS

    def after(self, held_seconds: float) -> float:
        pause = AGAIN_SECONDS if held_seconds >= LONGEST_AGAIN_SECONDS else self._next
        self._next = min(pause * 2, LONGEST_AGAIN_SECONDS)
        return pause


_NOT_TOLD = JsonRpcFailure(METHOD_NOT_FOUND, "the server does not report changes of this resource")


def _some(stream: asyncio.Task[bool] | None) -> tuple[asyncio.Task[bool], ...]:
    return () if stream is None else (stream,)


def _uris_in(wanted: dict[str, Any]) -> frozenset[str]:
    return frozenset(wanted.get("resourceSubscriptions", ()))


class _Honoured(Struct, rename="camel", frozen=True):
    resource_subscriptions: tuple[str, ...] = ()


class _Acknowledged(Struct):
    notifications: _Honoured = _Honoured()


def _read_honoured(params: bytes) -> frozenset[str] | None:
    try:
        return frozenset(msgspec.json.decode(params, type=_Acknowledged).notifications.resource_subscriptions)
    except msgspec.DecodeError:
        return None

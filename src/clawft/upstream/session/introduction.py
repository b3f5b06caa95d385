"""Finds out the era of a server by asking, and reads its introduction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from clawft._version import __version__
from clawft.errors import (
    UNSUPPORTED_REVISION,
    JsonRpcFailure,
    LinkRefused,
    ProcessExited,
    ProtocolFailure,
    RequestTimeout,
)
from clawft.link.base import Link, OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.model import Era
from clawft.upstream.session.peer import Peer, read_discover, read_initialize, supported_by
from clawft.wire import meta as metas
from clawft.wire.jsonrpc.messages import Failure, Response
from clawft.wire.revisions import HANDSHAKE, NEWEST_HANDSHAKE, STATELESS

HANDSHAKE_SECONDS = 30.0
PROBE_SECONDS = 10.0

NO_SUCH_FORM = (400, 404, 405, 406, 415, 422, 500, 501)
"""HTTP statuses by which a server shows that it does not speak a dialect; others say nothing about that."""

CLIENT_INFO = {"name": "clawft", "version": __version__}

_encode = msgspec.json.encode


class Introduction:
    """Of one server, over a link that is open."""

    def __init__(self, link: Link, capabilities: Mapping[str, Any]) -> None:
        """`capabilities` are what the server is told that its client can do."""
        self._link = link
        self._capabilities = capabilities
        self.probing = False
        """The first question is out: whoever waits for its answer hears of a loss as well, and may begin again."""
        self.ended_at_probe = False
        """The program ended when it was asked for its era: it may be one that wants to hear `initialize` first."""
        self._doubt = ""
        """Why an answer was no proof of a stateless peer."""

    async def meet(self, known: Era | None, pinned: Era | None) -> Peer:
        """`known` is what this server spoke last time and is tried first; `pinned` the only one tried at all."""
        if pinned is Era.STATELESS:
            return await self.discover() or _speaks_none(self._doubt)
        if self._link.kind == "sse" or pinned is Era.HANDSHAKE:  # SSE is older than the stateless era
            return await self._initialize()
        if known is Era.HANDSHAKE:
            return await self._initialize_as_before()
        return await self._probe(known) or await self._initialize_or_discover()

    async def _probe(self, known: Era | None) -> Peer | None:
        """The first question to a server of which nothing is known, or that it was stateless."""
        self.probing = True
        try:
            return await self.discover()
        except ProcessExited:
            self.ended_at_probe = known is None
            raise
        finally:
            self.probing = False

    async def discover(self, version: str = STATELESS[-1], *, again: bool = False) -> Peer | None:
        """The stateless peer, or None if there is no proof of one. A refused version is tried once more, if mutual."""
        params = _encode({"_meta": about_us(version, self._capabilities)})
        probe = OutgoingRequest("server/discover", params, version)
        try:
            answer = await self._link.request(probe, Deadline("server/discover", PROBE_SECONDS))
        except (RequestTimeout, ProtocolFailure):
            return None
        except LinkRefused as refused:
            if refused.http_status not in NO_SUCH_FORM:
                raise
            return None
        if isinstance(answer, Response):
            return self._proven(answer.result)
        mutual = supported_by(answer)
        return await self.discover(mutual, again=True) if mutual and not again else None

    def _proven(self, discovered: bytes) -> Peer | None:
        try:
            return read_discover(discovered)
        except ProtocolFailure as unproven:
            self._doubt = unproven.message
            return None

    async def _initialize_as_before(self) -> Peer:
        """Greet a server that spoke the handshake dialect last time; if it does no more, we look again from the
        beginning.
        """
        try:
            return await self._initialize()
        except (JsonRpcFailure, LinkRefused, ProtocolFailure):
            peer = await self.discover()
            if peer is None:
                raise
            return peer

    async def _initialize_or_discover(self) -> Peer:
        """The handshake; a server that has locked itself to the stateless era says so, and is asked again there."""
        try:
            return await self._initialize()
        except JsonRpcFailure as refused:
            peer = await self.discover() if refused.error_code == UNSUPPORTED_REVISION else None
            if peer is None:
                raise self._with_doubt(refused) from None
            return peer

    def _with_doubt(self, refused: JsonRpcFailure) -> JsonRpcFailure:
        """The refusal, with the reason for doubt: a stateless server that does not show its era well refuses the
        handshake without a good reason.
        """
        message = f"{refused.message}; {self._doubt}" if self._doubt else refused.message
        return JsonRpcFailure(refused.error_code, message, refused.error_data)

    async def _initialize(self) -> Peer:
        params = _encode(
            {"protocolVersion": NEWEST_HANDSHAKE, "capabilities": self._capabilities, "clientInfo": CLIENT_INFO}
        )
        hello = OutgoingRequest("initialize", params)
        answer = await self._link.request(hello, Deadline("initialize", HANDSHAKE_SECONDS))
        if isinstance(answer, Failure):
            raise answer.read()
        peer = read_initialize(answer.result)
        if peer.revision not in HANDSHAKE:
            raise ProtocolFailure(
                f"the server speaks {peer.revision or 'no revision that it names'}, we speak {', '.join(HANDSHAKE)}",
                hint="a newer clawft, or another version of the server, may know a common one",
            )
        self._link.settled(peer.revision)
        await self._link.notify("notifications/initialized")
        return peer


def about_us(version: str, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """The members about its client in every request of the stateless era."""
    return {metas.VERSION: version, metas.CAPABILITIES: capabilities, metas.CLIENT: CLIENT_INFO}


def _speaks_none(doubt: str) -> NoReturn:
    raise ProtocolFailure(
        doubt or f"the server does not speak {STATELESS[-1]}",
        hint='its era is fixed in its entry; leave out era = "stateless"',
    )

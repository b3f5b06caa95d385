"""A conversation with one server, in whichever era it speaks. Found by probing, remembered by whoever asks.

After `connect` both eras look alike: `request` gives the bare result, lists come whole, notices and questions of the
server go to the listener.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol, cast

import msgspec
from msgspec import Raw, Struct

from clawft._version import __version__
from clawft.errors import (
    METHOD_NOT_FOUND,
    UNSUPPORTED_REVISION,
    ClawftError,
    JsonRpcFailure,
    LinkError,
    LinkRefused,
    ProtocolFailure,
    RequestTimeout,
)
from clawft.link.base import Link, Outgoing
from clawft.link.patience import Patience
from clawft.model import Era
from clawft.wire import jsonrpc
from clawft.wire import meta as metas
from clawft.wire.jsonrpc import Failure, Notification, Request, Response
from clawft.wire.methods import names_by_header
from clawft.wire.revisions import HANDSHAKE, NEWEST_HANDSHAKE, STATELESS

CONNECT_SECONDS = 30.0
PROBE_SECONDS = 10.0
REQUEST_SECONDS = 30.0
MAX_PAGES = 1_000
MAX_ITEMS = 10_000

CLIENT_INFO = {"name": "clawft", "version": __version__}

_encode = msgspec.json.encode
_object = msgspec.json.Decoder(dict[str, Raw])
_any_object = msgspec.json.Decoder(dict[str, Any])


class Listener(Protocol):
    """Whoever lives with the session: told of notices, asked the server's questions, told when it is lost."""

    def noticed(self, notification: Notification, stream: int | None) -> None: ...

    async def asked(self, request: Request, stream: int | None) -> Mapping[str, Any]:
        """The result for a request of the server's; raises JsonRpcFailure to refuse it."""
        ...

    def lost(self, error: LinkError) -> None: ...


class Peer(Struct, frozen=True):
    """What a server told about itself."""

    era: Era
    revision: str
    capabilities: Mapping[str, Any] = {}
    server_info: Mapping[str, Any] = {}
    instructions: str = ""

    def supports(self, capability: str) -> bool:
        """`tools`, `resources`, `prompts` … A server that declares nothing at all is asked for tools all the same."""
        return capability in self.capabilities or (capability == "tools" and not self.capabilities)


class Session:
    def __init__(self, link: Link, listener: Listener, capabilities: Mapping[str, Any] | None = None) -> None:
        self._link = link
        self._listener = listener
        self._capabilities = dict(capabilities or {})
        self._answering: set[asyncio.Task[None]] = set()
        self.peer = Peer(Era.HANDSHAKE, NEWEST_HANDSHAKE)

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def connect(self, known: Era | None = None) -> Peer:
        """Open the link and find the era; `known` is what this server spoke last time and is tried first."""
        await self._link.open(self._incoming, self._listener.lost)
        if known is Era.HANDSHAKE:
            self.peer = await self._initialize_or_discover()
        else:
            self.peer = await self._discover() or await self._initialize_or_discover()
        return self.peer

    async def _discover(self, version: str = STATELESS[-1]) -> Peer | None:
        """The stateless peer, or None if there is no proof of one."""
        probe = self._outgoing_stateless("server/discover", {}, version)
        try:
            answer = await self._link.request(probe, Patience("server/discover", PROBE_SECONDS))
        except (RequestTimeout, LinkRefused):
            return None
        if isinstance(answer, Response):
            return _read_discover(answer.result)
        mutual = _supported_by(answer)
        if mutual and mutual != version:
            return await self._discover(mutual)
        return None

    async def _initialize_or_discover(self) -> Peer:
        """The handshake; a server that has locked itself to the stateless era says so, and is asked again there."""
        try:
            return await self._initialize()
        except JsonRpcFailure as refused:
            if refused.error_code != UNSUPPORTED_REVISION:
                raise
            peer = await self._discover()
            if peer is None:
                raise
            return peer

    async def _initialize(self) -> Peer:
        params = _encode(
            {"protocolVersion": NEWEST_HANDSHAKE, "capabilities": self._capabilities, "clientInfo": CLIENT_INFO}
        )
        answer = await self._link.request(Outgoing("initialize", params), Patience("initialize", CONNECT_SECONDS))
        if isinstance(answer, Failure):
            raise answer.read()
        peer = _read_initialize(answer.result)
        if peer.revision not in HANDSHAKE:
            raise ProtocolFailure(f"the server speaks {peer.revision}, we speak {', '.join(HANDSHAKE)}")
        self._link.settled(peer.revision)
        await self._link.notify("notifications/initialized")
        return peer

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def link(self) -> Link:
        return self._link

    async def request(
        self, method: str, members: Mapping[str, Any] | None = None, *, seconds: float = REQUEST_SECONDS
    ) -> bytes:
        """The bare result. Raises JsonRpcFailure for an error answer, RequestTimeout when none comes."""
        answer = await self._link.request(self.outgoing(method, members or {}), Patience(method, seconds))
        if isinstance(answer, Failure):
            raise answer.read()
        return answer.result

    def outgoing(self, method: str, members: Mapping[str, Any]) -> Outgoing:
        if self.peer.era is Era.STATELESS:
            return self._outgoing_stateless(method, members, self.peer.revision)
        return Outgoing(method, _encode(members) if members else b"")

    def _outgoing_stateless(self, method: str, members: Mapping[str, Any], version: str) -> Outgoing:
        meta: dict[str, Any] = dict(members.get("_meta", {}))
        meta[metas.VERSION] = version
        meta[metas.CAPABILITIES] = self._capabilities
        meta[metas.CLIENT] = CLIENT_INFO
        name = members.get(names_by_header(method), "")
        return Outgoing(method, _encode({**members, "_meta": meta}), version, name if isinstance(name, str) else "")

    async def list_all(self, method: str, member: str) -> list[bytes]:
        """Every item of a list, raw and in the server's order. Follows cursors, but neither for ever nor in circles."""
        items: list[bytes] = []
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = _object.decode(await self.request(method, {} if cursor is None else {"cursor": cursor}))
            items += [bytes(item) for item in msgspec.json.decode(page.get(member, Raw(b"[]")), type=list[Raw])]
            cursor = msgspec.json.decode(page["nextCursor"], type=str | None) if "nextCursor" in page else None
            if cursor is None or cursor in seen or len(items) > MAX_ITEMS:
                break
            seen.add(cursor)
        return items[:MAX_ITEMS]

    async def notify(self, method: str, params: bytes = b"") -> None:
        await self._link.notify(method, params)

    async def check(self, seconds: float) -> None:
        """Is it alive? `ping`, or `server/discover` where there is no ping."""
        try:
            await self.request("ping" if self.peer.era is Era.HANDSHAKE else "server/discover", seconds=seconds)
        except JsonRpcFailure:
            return  # an error is an answer

    async def close(self) -> None:
        for task in self._answering:
            task.cancel()
        await self._link.close()

    # ── being asked ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _incoming(self, message: Request | Notification, stream: int | None) -> None:
        if isinstance(message, Notification):
            self._listener.noticed(message, stream)
            return
        if len(self._answering) >= MAX_QUESTIONS:
            return  # a flood: those that wait are enough
        task = asyncio.get_running_loop().create_task(self._answer(message, stream))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, request: Request, stream: int | None) -> None:
        await self._link.answer(await self._answer_to(request, stream))

    async def _answer_to(self, request: Request, stream: int | None) -> bytes:
        if request.method == "ping":
            return jsonrpc.result(request.id, b"{}")
        if self.peer.era is Era.STATELESS:
            return jsonrpc.failure(request.id, METHOD_NOT_FOUND, "servers of this era send no requests")
        try:
            return jsonrpc.result(request.id, _encode(await self._listener.asked(request, stream)))
        except JsonRpcFailure as refused:
            return jsonrpc.failure(request.id, refused.error_code, refused.message)
        except ClawftError as failed:
            return jsonrpc.failure(request.id, failed.code, str(failed))


MAX_QUESTIONS = 64


def _read_discover(result: bytes) -> Peer | None:
    """A stateless peer shows itself by a version we share, and by saying what its result is."""
    try:
        told = _any_object.decode(result)
    except msgspec.DecodeError:
        return None
    mutual = _mutual(told.get("supportedVersions"))
    if mutual is None or "resultType" not in told:
        return None
    return _peer(Era.STATELESS, mutual, told, _mapping(told.get("_meta")).get(metas.SERVER))


def _read_initialize(result: bytes) -> Peer:
    try:
        told = _any_object.decode(result)
    except msgspec.DecodeError as wrong:
        raise ProtocolFailure(f"the answer to initialize is malformed: {wrong}") from None
    return _peer(Era.HANDSHAKE, str(told.get("protocolVersion", "")), told, told.get("serverInfo"))


def _peer(era: Era, revision: str, told: Mapping[str, Any], info: object) -> Peer:
    """Empty where something is missing, or is not what it should be."""
    instructions = told.get("instructions")
    return Peer(
        era,
        revision,
        capabilities=_mapping(told.get("capabilities")),
        server_info=_mapping(info),
        instructions=instructions if isinstance(instructions, str) else "",
    )


def _supported_by(failure: Failure) -> str | None:
    """The stateless version that a refusal offers instead, if we speak it."""
    try:
        error = failure.read()
    except ProtocolFailure:
        return None
    if error.error_code != UNSUPPORTED_REVISION:
        return None
    return _mutual(_mapping(error.error_data).get("supported"))


def _mutual(versions: object) -> str | None:
    offered = cast("list[object]", versions) if isinstance(versions, list) else []
    return next((version for version in reversed(STATELESS) if version in offered), None)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}

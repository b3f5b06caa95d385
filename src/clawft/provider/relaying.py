"""Tool calls on their way to a server and back, as the bytes they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from clawft.errors import (
    HEADER_MISMATCH,
    ExecutionFailed,
    JsonRpcFailure,
    LinkClosed,
    LinkError,
    NotConnected,
    ProcessExited,
    ProtocolFailure,
    SessionLost,
    WireError,
)
from clawft.link.base import Outgoing
from clawft.link.patience import Patience
from clawft.model import Call, Caller, Era, Kind, Reply, Tool
from clawft.provider import relay
from clawft.provider.following import Following
from clawft.provider.refusal import failed
from clawft.upstream.session import Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc import Failure

CONNECT_SECONDS = 30.0

_encode = msgspec.json.encode


class Relaying:
    """The calls of one server."""

    def __init__(self, upstream: Upstream, following: Following, own: Callable[[str], Upstream] | None = None) -> None:
        """`own` gives the server as one conversation has it, for a server that keeps its callers apart."""
        self._upstream = upstream
        self._own = own if upstream.spec.isolation == "per-session" else None
        self._following = following
        self._native: dict[str, bytes] = {}
        self._server = upstream.spec.name

    async def run(self, call: Call) -> Reply:
        upstream = self._upstream if self._own is None else self._of(call.caller)
        seconds = upstream.spec.deadline_of(call.tool.name)
        session = upstream.session or await self._connected(call, seconds)
        if not upstream.gate.try_enter():
            await upstream.gate.enter()
        try:
            return await self._relay(call, session, seconds)
        except (LinkError, WireError, ProtocolFailure) as wrong:
            raise failed(self._server, wrong) from None
        finally:
            upstream.gate.leave()

    def _of(self, caller: Caller) -> Upstream:
        """Its own where the caller has a conversation to keep apart; a pipe, or a stateless request, has none."""
        return self._own(caller.session) if self._own is not None and caller.session else self._upstream

    async def _connected(self, call: Call, seconds: float) -> Session:
        try:
            return await self._of(call.caller).connected(min(seconds, CONNECT_SECONDS))
        except NotConnected as down:
            raise ExecutionFailed(down.message, hint=down.hint) from None

    async def _relay(self, call: Call, session: Session, seconds: float, *, last: bool = False) -> Reply:
        """`last`: what is lost now stays lost."""
        patience = Patience(call.tool.name, seconds, seconds * HARD_LIMIT_FACTOR)
        token = self._following.begin(call.talk, patience) if relay.wants_progress(call.meta) else None
        try:
            answer = await session.link.request(self._outgoing(call, session, token), patience)
        except (ProcessExited, LinkClosed, SessionLost):
            if last or not _may_repeat(call.tool):
                raise
            left = patience.left()
            return await self._relay(call, await self._connected(call, left), patience.left(), last=True)
        finally:
            if token is not None:
                self._following.end(token)
        if isinstance(answer, Failure):
            return await self._refused(call, session, answer.read(), seconds, last=last)
        reply = relay.reply_of(answer.result, stateless=session.peer.era is Era.STATELESS)
        return reply if reply.kind is Kind.COMPLETE else await self._complete(call, session, answer.result, seconds)

    async def _refused(
        self, call: Call, session: Session, error: JsonRpcFailure, seconds: float, *, last: bool
    ) -> Reply:
        """A tool whose header annotations have changed is read again, and the call, which did not run, made again."""
        if last or error.error_code != HEADER_MISMATCH:
            raise error
        await self._upstream.lists.ask(session)
        return await self._relay(call, session, seconds, last=True)

    async def _complete(self, call: Call, session: Session, result: bytes, seconds: float) -> Reply:
        """The server wants to know something first: what the house can answer, it does."""
        whole = await session.complete("tools/call", self._members(call, None), result, seconds=seconds)
        return relay.reply_of(whole, stateless=True)

    def _outgoing(self, call: Call, session: Session, token: int | None) -> Outgoing:
        if session.peer.era is Era.STATELESS:
            return session.outgoing("tools/call", self._members(call, token))
        name = self._native.get(call.tool.name)
        if name is None:
            name = self._native[call.tool.name] = _encode(call.tool.name)
        meta = relay.outgoing_meta(call.meta, token) if call.meta else {}
        return Outgoing("tools/call", relay.call_params(name, call.arguments, meta))

    def _members(self, call: Call, token: int | None) -> dict[str, Any]:
        meta = relay.outgoing_meta(call.meta, token) if call.meta else {}
        return {"name": call.tool.name, "arguments": Raw(call.arguments), "_meta": meta}


def _may_repeat(tool: Tool) -> bool:
    """A call that was lost may have run: only one that changes nothing, or nothing more, is made again."""
    return tool.annotations.read_only_hint or tool.annotations.idempotent_hint

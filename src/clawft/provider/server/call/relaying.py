"""Tool calls on their way to a server and back, as the bytes they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from clawft.errors import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    URL_ELICITATION_REQUIRED,
    ClawftError,
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
from clawft.link.share.workshop import worked_on
from clawft.model import Call, Caller, Era, Errand, Kind, Reply, Tool
from clawft.provider.server import relay
from clawft.provider.server.call.plain import Ended, Known, PlainCall, Way
from clawft.provider.server.call.refusal import failed, lacking, withheld
from clawft.provider.server.call.tasks import ForeignTasks, follows, needs_tasks
from clawft.provider.server.following import Following
from clawft.provider.server.question import carried
from clawft.provider.server.question.conversing import Conversing, may_park
from clawft.provider.server.question.urls import ask_for_urls, consented, login_wanted
from clawft.upstream.flights import Flight, sharer
from clawft.upstream.interest.interest import TELL_SECONDS
from clawft.upstream.session.peer import Wanted, read_wanted
from clawft.upstream.session.session import MAX_ITEMS, Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.upstream.upstream import Upstream
from clawft.wire import meta as metas
from clawft.wire.jsonrpc import Failure, Response

CONNECT_SECONDS = 30.0
LOCAL = Caller().principal

_HANDSHAKE = Era.HANDSHAKE  # to find it in its class takes longer than all the rest of a comparison

_encode = msgspec.json.encode


class Relaying:
    """The calls of one server."""

    def __init__(
        self,
        upstream: Upstream,
        following: Following,
        conversing: Conversing,
        own: Callable[[str], Upstream] | None = None,
    ) -> None:
        """`own` gives the server as one conversation has it, for a server that keeps its callers apart."""
        self._upstream = upstream
        self._own = own if upstream.spec.isolation == "per-session" else None
        self._following = following
        self._conversing = conversing
        self.tasks = ForeignTasks(upstream, conversing)
        self._known: dict[str, Known] = {}
        self._way: Way | None = None
        self._server = upstream.spec.name
        self._was_called = False
        self.only_principal = ""
        """Whoever calls this server, if it is always the same: then what the server says to all is said to them."""

    def start(self, call: Call, errand: Errand) -> PlainCall | None:
        """Send it on its way, if it needs nothing but its answer."""
        upstream = self._upstream
        session = upstream.session
        if session is None or not _is_plain(call, session) or self._own is not None:
            return None
        way = self._way if self._way is not None and self._way.session is session else self._find_way(session)
        if way is None or not upstream.gate.try_enter():
            return None
        if call.caller.principal != self.only_principal:
            self._meet(call.caller.principal)
        try:
            return PlainCall(call, self._known.get(call.tool.name) or self._learn(call.tool.name), way, errand)
        except LinkError:  # the link has just gone: whoever runs the call finds the next one
            upstream.gate.leave()
            return None

    def _find_way(self, session: Session) -> Way | None:
        if session.posting is not None:
            loop = asyncio.get_running_loop()
            self._way = Way(self._upstream, session, session.posting, loop, self._following, self._settle)
            return self._way
        return None

    async def _settle(self, plain: PlainCall, ended: Ended) -> Reply:
        """The rest of a call that was sent on its way and came to more than a result."""
        upstream, session = plain.way.upstream, plain.way.session
        try:
            if not isinstance(ended, ClawftError):
                return await self._reply(plain.call, upstream, session, ended, plain.left(), last=False)
            if not isinstance(ended, LOST) or not _may_repeat(plain.call.tool):
                raise ended
            await upstream.gate.enter(sharer(plain.call.caller))
            try:
                return await self._relay_again(plain.call, upstream, plain)
            finally:
                upstream.gate.leave()
        except (LinkError, WireError, ProtocolFailure) as wrong:
            raise failed(self._server, wrong) from None

    async def run(self, call: Call) -> Reply:
        if call.caller.principal != self.only_principal:
            self._meet(call.caller.principal)
        seconds = (self._known.get(call.tool.name) or self._learn(call.tool.name)).seconds
        upstream = self._upstream if self._own is None else self.of(call.caller)
        session = upstream.session or await self._connected(call, seconds)
        if not upstream.gate.try_enter():
            await upstream.gate.enter(sharer(call.caller))
        try:
            return await self._relay_anyhow(call, upstream, session, seconds)
        except (LinkError, WireError, ProtocolFailure) as wrong:
            raise failed(self._server, wrong) from None
        finally:
            upstream.gate.leave()

    def _meet(self, principal: str) -> None:
        self.only_principal = "" if self._was_called else principal
        self._was_called = True

    def _learn(self, tool: str) -> Known:
        if len(self._known) >= MAX_ITEMS:  # of a server that changes their names again and again
            self._known.clear()
        seconds = self._upstream.spec.deadline_of(tool)
        head = b',"method":"tools/call","params":{"name":%b,"arguments":' % _encode(tool)
        known = Known(seconds, seconds * HARD_LIMIT_FACTOR, head)
        self._known[tool] = known
        return known

    def of(self, caller: Caller) -> Upstream:
        """Its own where the caller has a conversation to keep apart; a pipe, or a stateless request, has none."""
        return self._own(caller.session) if self._own is not None and caller.session else self._upstream

    async def _connected(self, call: Call, seconds: float) -> Session:
        upstream = self.of(call.caller)
        try:
            return await upstream.connected(min(seconds, CONNECT_SECONDS))
        except NotConnected as down:
            if upstream.login_url and call.caller.principal == LOCAL:  # nobody else logs in for this user
                await ask_for_urls(self._server, call, login_wanted(upstream.login_url))
            raise ExecutionFailed(down.message, hint=down.hint) from None

    async def _be_loud(self, upstream: Upstream, level: str) -> None:
        """Servers of the handshake era have one level for all their callers; the others are told with each call."""
        if not upstream.logs_per_request and upstream.interest.hear_at_least(level):
            await upstream.interest.settled(TELL_SECONDS)

    async def _relay_again(self, call: Call, upstream: Upstream, flight: Flight) -> Reply:
        session = await self._connected(call, flight.left())
        return await self._relay(call, upstream, session, flight.left(), last=True)

    async def _relay_anyhow(self, call: Call, upstream: Upstream, session: Session, seconds: float) -> Reply:
        if call.talk.level:
            await self._be_loud(upstream, call.talk.level)
        if call.tool.task == "required":
            return await self.tasks.call(call, session, self._members(call, None), seconds)
        if call.talk.carried:
            return await self._go_on(call, upstream, session, seconds)
        return await self._relay(call, upstream, session, seconds)

    async def _relay(
        self, call: Call, upstream: Upstream, session: Session, seconds: float, *, last: bool = False
    ) -> Reply:
        """`last`: what is lost now stays lost."""
        flight = Flight(call, call.tool.name, seconds, seconds * HARD_LIMIT_FACTOR)
        followed = call.meta and relay.wants_progress(call.meta)
        token = self._following.begin(call.talk, flight) if followed else None
        upstream.flights[flight] = None
        outgoing = self._outgoing(call, session, token)
        parks = call.caller.era is Era.STATELESS and may_park(call.caller, session)
        try:
            if parks:
                asking = self._conversing.begin(call, upstream, session, outgoing, flight, token)
            else:
                asking = session.link.request(outgoing, flight)
            del outgoing  # which may be large: the link lets go of it once it is sent
            answer = await asking
        except LOST:
            if last or not _may_repeat(call.tool):
                raise
            return await self._relay_again(call, upstream, flight)
        finally:
            if not parks:  # else it may go on without us
                self._land(upstream, flight, token)
        return await self._reply(call, upstream, session, answer, seconds, last=last)

    def _land(self, upstream: Upstream, flight: Flight, token: int | None) -> None:
        del upstream.flights[flight]
        if flight.answering:
            flight.land(upstream.flights)
        if token is not None:
            self._following.end(token)

    async def _reply(
        self,
        call: Call,
        upstream: Upstream,
        session: Session,
        answer: Response | Failure,
        seconds: float,
        *,
        last: bool = True,
    ) -> Reply:
        if isinstance(answer, Failure):
            return await self._refused(call, upstream, session, answer.read(), seconds, last=last)
        read = partial(_reply_of, call, session, answer.result)
        reply = await worked_on(answer.result, self._server, read)
        if reply.kind is Kind.COMPLETE:
            return reply
        if reply.kind is Kind.TASK:
            return reply if follows(call.caller) else await self.tasks.finish(call, session, answer.result, seconds)
        wanted = read_wanted(answer.result)
        return reply if wanted is None else await self._complete(call, session, wanted, seconds)

    async def _refused(
        self, call: Call, upstream: Upstream, session: Session, error: JsonRpcFailure, seconds: float, *, last: bool
    ) -> Reply:
        """A tool whose header annotations have changed is read again, and the call, which did not run, made again."""
        if error.error_code == URL_ELICITATION_REQUIRED:
            await ask_for_urls(self._server, call, error)
        if error.error_code == MISSING_CAPABILITY and needs_tasks(error) and not follows(call.caller):
            return await self.tasks.call(call, session, self._members(call, None), seconds)
        if error.error_code == MISSING_CAPABILITY:
            raise withheld(self._upstream.spec, error) or lacking(self._server, error)
        if last or error.error_code != HEADER_MISMATCH:
            try:
                raise error
            finally:
                del error  # or it would hold this frame, and the frame it, and both the answer that may be large
        await self._upstream.lists.ask(session)
        return await self._relay(call, upstream, session, seconds, last=True)

    # ── questions on the way ─────────────────────────────────────────────────────────────────────────────────────────

    async def _go_on(self, call: Call, upstream: Upstream, session: Session, seconds: float) -> Reply:
        """The agent has come back with answers."""
        match carried.read(call.talk.carried):
            case carried.Parked(id):
                answer = await self._conversing.go_on(call, id)
                return await self._reply(call, upstream, session, answer, seconds)
            case carried.Round(wanted):
                return await self._complete(call, session, wanted, seconds)
            case carried.Working(id):
                return await self.tasks.resume(call, session, id, seconds)
            case carried.Again():
                await consented(self._server, call)
                return await self._relay(call, upstream, session, seconds)

    async def _complete(self, call: Call, session: Session, wanted: Wanted, seconds: float) -> Reply:
        """The server wants to know something first; what it then begins may be a task."""
        members, told = self._members(call, None), self._told(call.caller)
        whole = await self._conversing.complete(call, session, "tools/call", members, wanted, seconds, told)
        reply = relay.reply_of(whole, stateless=True, older=call.caller.era is Era.HANDSHAKE)
        if reply.kind is Kind.TASK and not follows(call.caller):
            return await self.tasks.finish(call, session, whole, seconds)
        return reply

    # ── the request ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _outgoing(self, call: Call, session: Session, token: int | None) -> Outgoing:
        if session.peer.era is Era.STATELESS:
            return session.outgoing("tools/call", self._members(call, token), self._told(call.caller))
        meta = relay.outgoing_meta(call.meta, token) if call.meta else {}
        return Outgoing("tools/call", relay.call_params(_encode(call.tool.name), call.arguments, meta, call.more))

    def _told(self, agent: Caller) -> dict[str, Any]:
        return self.tasks.told(agent) if follows(agent) else self._conversing.told(agent)

    def _members(self, call: Call, token: int | None) -> dict[str, Any]:
        meta: dict[str, Any] = relay.outgoing_meta(call.meta, token) if call.meta else {}
        if call.talk.level:
            meta[metas.LOG_LEVEL] = call.talk.level
        return {"name": call.tool.name, "arguments": Raw(call.arguments), "_meta": meta, **relay.further(call.more)}


LOST = (ProcessExited, LinkClosed, SessionLost)


def _is_plain(call: Call, session: Session) -> bool:
    """Both sides keep one conversation, and nothing but the result, or progress, is wanted: one request, one answer."""
    talk = call.talk
    if call.more or talk.level or talk.carried or call.tool.task == "required":
        return False
    return call.caller.era is _HANDSHAKE and session.peer.era is _HANDSHAKE


def _reply_of(call: Call, session: Session, result: bytes) -> Reply:
    older = call.caller.era is Era.HANDSHAKE
    return relay.reply_of(result, stateless=session.peer.era is Era.STATELESS, older=older)


def _may_repeat(tool: Tool) -> bool:
    """A call that was lost may have run: only one that changes nothing, or nothing more, is made again."""
    return tool.annotations.read_only_hint or tool.annotations.idempotent_hint

"""The slow path of a call to a server: over HTTP, between eras, with questions, as a task, or after a loss."""

from __future__ import annotations

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
    MissingCapability,
    NotConnected,
)
from clawft.link.base import OutgoingRequest
from clawft.link.share.gate import sharer
from clawft.link.share.large_messages import process_message
from clawft.model import Call, Caller, Era, Kind, Reply, Tool
from clawft.provider.server import relay
from clawft.provider.server.call.news import is_background
from clawft.provider.server.call.plain_call import CallEnd, PlainCall
from clawft.provider.server.call.refusal import contradicted, failed, is_of_other_era, lacking, withheld
from clawft.provider.server.call.server_calls import BROKEN, CONNECT_SECONDS, LOST
from clawft.provider.server.call.tasks import ForeignTasks, follows, needs_tasks
from clawft.provider.server.progress_following import ProgressFollowing
from clawft.provider.server.question import carried_state
from clawft.provider.server.question.server_questions import ServerQuestions, may_park
from clawft.provider.server.question.urls import ask_for_urls, consented, login_wanted
from clawft.upstream.flights import GIVEN_UP, Flight
from clawft.upstream.interest.interest import TELL_SECONDS
from clawft.upstream.session.peer import UnfinishedResult, read_wanted
from clawft.upstream.session.session import Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.upstream.upstream import Upstream
from clawft.wire import meta as metas
from clawft.wire.jsonrpc.messages import Failure, Response
from clawft.wire.tasks import read as read_task

LOCAL = Caller().principal

_encode = msgspec.json.encode


class SlowPath:
    """Relays those calls of one server that a `PlainCall` cannot."""

    def __init__(
        self,
        upstream: Upstream,
        of: Callable[[Caller], Upstream],
        following: ProgressFollowing,
        questions: ServerQuestions,
    ) -> None:
        """`of` gives the upstream that this caller uses."""
        self._upstream = upstream
        self._of = of
        self._following = following
        self._questions = questions
        self._server = upstream.spec.name
        self.tasks = ForeignTasks(upstream.spec, of, questions)

    async def settle(self, plain: PlainCall, ended: CallEnd) -> Reply:
        """Finish a plain call that ended with anything but a plain result."""
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
        except BROKEN as wrong:
            raise self.told(wrong, upstream) from None

    def told(self, wrong: ClawftError, upstream: Upstream) -> ExecutionFailed | JsonRpcFailure | MissingCapability:
        """The error for the calling agent."""
        if is_of_other_era(wrong):
            upstream.health.doubt()
        upstream.failed_a_request(wrong)
        return failed(self._server, wrong)

    async def connected(self, call: Call, seconds: float) -> Session:
        upstream = self._of(call.caller)
        try:
            return await upstream.connected(min(seconds, CONNECT_SECONDS))
        except NotConnected as down:
            if upstream.login_url and call.caller.principal == LOCAL:  # nobody else logs in for this user
                await ask_for_urls(self._server, call, login_wanted(upstream.login_url))
            raise ExecutionFailed(down.message, hint=down.hint) from None

    async def _raise_log_level(self, upstream: Upstream, level: str) -> None:
        """Set the level of a handshake server, which has one for all callers; others get it with each call."""
        if not upstream.logs_per_request and upstream.interest.hear_at_least(level):
            await upstream.interest.settled(TELL_SECONDS)

    async def _relay_again(self, call: Call, upstream: Upstream, flight: Flight) -> Reply:
        session = await self.connected(call, flight.left())
        return await self._relay(call, upstream, session, flight.left(), last=True)

    async def relay(self, call: Call, upstream: Upstream, session: Session, seconds: float) -> Reply:
        """Run a call that holds its place at the server's gate."""
        if call.talk.level:
            await self._raise_log_level(upstream, call.talk.level)
        if call.tool.task == "required" or (call.tool.task == "optional" and is_background(call)):
            return await self.tasks.call(call, session, self._members(call, None), seconds)
        if call.talk.carried:
            return await self._go_on(call, upstream, session, seconds)
        return await self._relay(call, upstream, session, seconds)

    async def _relay(
        self, call: Call, upstream: Upstream, session: Session, seconds: float, *, last: bool = False
    ) -> Reply:
        """Send the call and await its reply. `last`: it is not repeated if it is lost."""
        flight = Flight(call, call.tool.name, seconds, seconds * HARD_LIMIT_FACTOR)
        followed = call.meta and relay.wants_progress(call.meta)
        token = self._following.begin(call.talk, flight) if followed else None
        upstream.flights[flight] = None
        outgoing = self._outgoing(call, session, token)
        parks = call.caller.era is Era.STATELESS and may_park(call.caller, session)
        try:
            if parks:
                asking = self._questions.begin(call, upstream, session, outgoing, flight, token)
            else:
                asking = session.link.request(outgoing, flight)
            del outgoing  # which may be large: the link lets go of it once it is sent
            answer = await asking
        except GIVEN_UP:
            upstream.abandoned.note(flight)
            raise
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
            flight.finish_questions(upstream.flights)
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
        reply = await process_message(answer.result, self._server, read)
        if reply.kind is Kind.COMPLETE:
            return reply
        if reply.kind is Kind.TASK:
            return await self._begun(call, session, reply, answer.result, seconds)
        wanted = read_wanted(answer.result)
        return reply if wanted is None else await self._complete(call, session, wanted, seconds)

    async def _refused(
        self, call: Call, upstream: Upstream, session: Session, error: JsonRpcFailure, seconds: float, *, last: bool
    ) -> Reply:
        """The reply after an error. A call whose tool has changed its header annotations is repeated."""
        if error.error_code == URL_ELICITATION_REQUIRED:
            await ask_for_urls(self._server, call, error)
        if error.error_code == MISSING_CAPABILITY and needs_tasks(error) and not follows(call.caller):
            return await self.tasks.call(call, session, self._members(call, None), seconds)
        if error.error_code == MISSING_CAPABILITY:
            told = contradicted(self._server, error, self._told(call))
            raise withheld(self._upstream.spec, error) or told or lacking(self._server, error)
        if last or error.error_code != HEADER_MISMATCH:
            try:
                raise error
            finally:
                del error  # or it would hold this frame, and the frame it, and both the answer that may be large
        await self._upstream.lists.ask(session)
        return await self._relay(call, upstream, session, seconds, last=True)

    async def _begun(self, call: Call, session: Session, reply: Reply, task: bytes, seconds: float) -> Reply:
        """The reply with a task, or with its result if the agent follows no tasks. Raises ProtocolFailure."""
        if not follows(call.caller):
            return await self.tasks.finish(call, session, task, seconds)
        read_task(task)
        return reply

    # ── questions on the way ─────────────────────────────────────────────────────────────────────────────────────────

    async def _go_on(self, call: Call, upstream: Upstream, session: Session, seconds: float) -> Reply:
        """Continue a call whose agent has come back with answers."""
        match carried_state.read(call.talk.carried):
            case carried_state.ParkedCall(id):
                answer = await self._questions.go_on(call, id)
                return await self._reply(call, upstream, session, answer, seconds)
            case carried_state.Round(wanted):
                return await self._complete(call, session, wanted, seconds)
            case carried_state.WorkingTask(id):
                return await self.tasks.resume(call, session, id, seconds)
            case carried_state.RepeatedCall():
                await consented(self._server, call)
                return await self._relay(call, upstream, session, seconds)

    async def _complete(self, call: Call, session: Session, wanted: UnfinishedResult, seconds: float) -> Reply:
        """The reply after answering the server's questions; that may be a task."""
        members, told = self._members(call, None), self._told(call)
        whole = await self._questions.complete(call, session, "tools/call", members, wanted, seconds, told)
        reply = relay.reply_of(whole, stateless=True, older=call.caller.era is Era.HANDSHAKE)
        return await self._begun(call, session, reply, whole, seconds) if reply.kind is Kind.TASK else reply

    # ── the request ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _outgoing(self, call: Call, session: Session, token: int | None) -> OutgoingRequest:
        if session.peer.era is Era.STATELESS:
            return session.outgoing("tools/call", self._members(call, token), self._told(call))
        meta = relay.outgoing_meta(call.meta, token) if call.meta else {}
        return OutgoingRequest(
            "tools/call", relay.call_params(_encode(call.tool.name), call.arguments, meta, call.more)
        )

    def _told(self, call: Call) -> dict[str, Any]:
        agent = call.caller
        return self.tasks.told(agent) if follows(agent) or is_background(call) else self._questions.told(agent)

    def _members(self, call: Call, token: int | None) -> dict[str, Any]:
        meta: dict[str, Any] = relay.outgoing_meta(call.meta, token) if call.meta else {}
        if call.talk.level:
            meta[metas.LOG_LEVEL] = call.talk.level
        return {"name": call.tool.name, "arguments": Raw(call.arguments), "_meta": meta, **relay.further(call.more)}


def _reply_of(call: Call, session: Session, result: bytes) -> Reply:
    older = call.caller.era is Era.HANDSHAKE
    return relay.reply_of(result, stateless=session.peer.era is Era.STATELESS, older=older)


def _may_repeat(tool: Tool) -> bool:
    """Whether a lost call, which may have run, can be repeated: only if the tool is read-only or idempotent."""
    return tool.annotations.read_only_hint or tool.annotations.idempotent_hint

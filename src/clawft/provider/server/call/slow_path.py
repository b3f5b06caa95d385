"""The slow path of a call to a server: over HTTP, between eras, with questions, as a task, or after a loss."""

from __future__ import annotations

from collections.abc import Coroutine
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
from clawft.link.share.large_messages import in_worker, is_cheap
from clawft.model import LOCAL, Call, Era, Kind, Reply, Tool
from clawft.provider.server import relay
from clawft.provider.server.attempt import Attempt
from clawft.provider.server.call.news import is_background
from clawft.provider.server.call.plain_call import CallEnd, PlainCall
from clawft.provider.server.call.refusal import contradicted, failed, is_of_other_era, lacking, withheld
from clawft.provider.server.call.server_calls import BROKEN, CONNECT_SECONDS, LOST
from clawft.provider.server.call.task_calls import TaskCalls
from clawft.provider.server.call.task_requests import follows, needs_tasks, with_tasks
from clawft.provider.server.question import carried_state
from clawft.provider.server.question.urls import ask_for_urls, consented, login_wanted
from clawft.provider.server.relayed_server import RelayedServer
from clawft.upstream.flights import Flight
from clawft.upstream.interest.interest import TELL_SECONDS
from clawft.upstream.session.capabilities import declared_for
from clawft.upstream.session.peer import UnfinishedResult, read_wanted
from clawft.upstream.session.session import Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.upstream.upstream import Upstream
from clawft.wire import meta as metas
from clawft.wire.jsonrpc.messages import Failure, Response
from clawft.wire.tasks import read as read_task

_encode = msgspec.json.encode


class SlowPath:
    """Relays those calls of one server that a `PlainCall` cannot."""

    def __init__(self, server: RelayedServer) -> None:
        self._server = server
        self._questions = server.questions
        self._task_calls = TaskCalls(server)

    async def run(self, call: Call, seconds: float) -> Reply:
        """Wait for the server and for a place among its calls, then relay the call."""
        upstream = self._server.upstream_of(call.caller)
        session = upstream.session or await self._connected(call, upstream, seconds)
        if not upstream.gate.try_enter():
            seconds = await upstream.gate.enter_within(seconds, sharer(call.caller))
        try:
            if call.talk.level:
                await self._raise_log_level(upstream, call.talk.level)
            return await self._relay(Attempt(call, upstream, session, seconds))
        except BROKEN as wrong:
            raise self._failure(wrong, upstream) from None
        finally:
            upstream.gate.leave()

    async def settle(self, plain: PlainCall, ended: CallEnd) -> Reply:
        """Finish a plain call that ended with anything but a plain result."""
        upstream = plain.route.upstream
        attempt = Attempt(plain.call, upstream, plain.route.session, plain.left())
        try:
            if not isinstance(ended, ClawftError):
                return await self._reply(attempt, ended)
            if not isinstance(ended, LOST) or not _may_repeat(plain.call.tool):
                raise ended
            await upstream.gate.enter(sharer(plain.call.caller))
            try:
                return await self._repeat(attempt, plain)
            finally:
                upstream.gate.leave()
        except BROKEN as wrong:
            raise self._failure(wrong, upstream) from None

    def _failure(self, wrong: ClawftError, upstream: Upstream) -> ExecutionFailed | JsonRpcFailure | MissingCapability:
        """The error for the calling agent."""
        if is_of_other_era(wrong):
            upstream.health.doubt()
        upstream.failed_a_request(wrong)
        return failed(self._server.name, wrong)

    async def _connected(self, call: Call, upstream: Upstream, seconds: float) -> Session:
        try:
            return await upstream.connected(min(seconds, CONNECT_SECONDS))
        except NotConnected as down:
            if upstream.login_url and call.caller.principal == LOCAL:  # nobody else logs in for this user
                await ask_for_urls(self._server.name, call, login_wanted(upstream.login_url))
            raise ExecutionFailed(down.message, hint=down.hint) from None

    # ── one attempt ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _relay(self, attempt: Attempt) -> Coroutine[Any, Any, Reply]:
        """Relay the call in the way that it wants: as a task, with answers it was asked for, or as it is."""
        call = attempt.call
        if call.tool.task == "required" or (call.tool.task == "optional" and is_background(call)):
            return self._task_calls.run(attempt, _members(call, None))
        return self._go_on(attempt) if call.talk.carried else self._send(attempt)

    async def _raise_log_level(self, upstream: Upstream, level: str) -> None:
        """Set the level of a handshake server, which has one for all callers; others get it with each call."""
        if not upstream.logs_per_request and upstream.interest.hear_at_least(level):
            await upstream.interest.settled(TELL_SECONDS)

    async def _send(self, attempt: Attempt) -> Reply:
        """Send the call and await its reply; repeat it once if it was lost and may be repeated."""
        call = attempt.call
        flight = Flight(call, call.tool.name, attempt.seconds, attempt.seconds * HARD_LIMIT_FACTOR)
        try:
            answer = await self._questions.send(attempt, flight, partial(self._outgoing, attempt))
        except LOST:
            if attempt.is_last or not _may_repeat(call.tool):
                raise
            return await self._repeat(attempt, flight)
        return await self._reply(attempt, answer)

    async def _repeat(self, lost: Attempt, flight: Flight) -> Reply:
        session = await self._connected(lost.call, lost.upstream, flight.left())
        return await self._send(Attempt(lost.call, lost.upstream, session, flight.left(), is_last=True))

    async def _reply(self, attempt: Attempt, answer: Response | Failure) -> Reply:
        if isinstance(answer, Failure):
            return await self._refused(attempt, answer.read())
        stateless, older = attempt.session.peer.era is Era.STATELESS, attempt.call.caller.era is Era.HANDSHAKE
        read = partial(relay.reply_of, answer.result, stateless=stateless, older=older)
        reply = read() if is_cheap(answer.result) else await in_worker(self._server.name, read)
        if reply.kind is Kind.COMPLETE:
            return reply
        if reply.kind is Kind.TASK:
            return await self._begun(attempt, reply, answer.result)
        wanted = read_wanted(answer.result)
        return reply if wanted is None else await self._complete(attempt, wanted)

    async def _refused(self, attempt: Attempt, error: JsonRpcFailure) -> Reply:
        """The reply after an error. A call whose tool has changed its header annotations is repeated."""
        call = attempt.call
        if error.error_code == URL_ELICITATION_REQUIRED:
            await ask_for_urls(self._server.name, call, error)
        if error.error_code == MISSING_CAPABILITY and needs_tasks(error) and not follows(call.caller):
            return await self._task_calls.run(attempt, _members(call, None))
        if error.error_code == MISSING_CAPABILITY:
            raise self._lacking(call, error)
        if attempt.is_last or error.error_code != HEADER_MISMATCH:
            try:
                raise error
            finally:
                del error  # or it would hold this frame, and the frame it, and both the answer that may be large
        await self._server.upstream.lists.ask(attempt.session)
        return await self._send(msgspec.structs.replace(attempt, is_last=True))

    def _lacking(self, call: Call, error: JsonRpcFailure) -> ExecutionFailed | MissingCapability:
        name = self._server.name
        contradiction = contradicted(name, error, self._declared(call))
        return withheld(self._server.spec, error) or contradiction or lacking(name, error)

    async def _begun(self, attempt: Attempt, reply: Reply, task: bytes) -> Reply:
        """The reply with a task, or with its result if the agent follows no tasks. Raises ProtocolFailure."""
        if not follows(attempt.call.caller):
            return await self._task_calls.finish(attempt, task)
        read_task(task)
        return reply

    # ── questions on the way ─────────────────────────────────────────────────────────────────────────────────────────

    async def _go_on(self, attempt: Attempt) -> Reply:
        """Continue a call whose agent has come back with answers."""
        call = attempt.call
        match carried_state.read(call.talk.carried):
            case carried_state.ParkedCall(id):
                answer = await self._questions.go_on(call, id)
                return await self._reply(msgspec.structs.replace(attempt, is_last=True), answer)
            case carried_state.Round(wanted):
                return await self._complete(attempt, wanted)
            case carried_state.WorkingTask(id):
                return await self._task_calls.resume(attempt, id)
            case carried_state.RepeatedCall():
                await consented(self._server.name, call)
                return await self._send(attempt)

    async def _complete(self, attempt: Attempt, wanted: UnfinishedResult) -> Reply:
        """The reply after answering the server's questions; that may be a task."""
        call = attempt.call
        members, declared = _members(call, None), self._declared(call)
        result = await self._questions.complete(attempt, "tools/call", members, wanted, declared)
        reply = relay.reply_of(result, stateless=True, older=call.caller.era is Era.HANDSHAKE)
        return await self._begun(attempt, reply, result) if reply.kind is Kind.TASK else reply

    # ── the request ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _outgoing(self, attempt: Attempt, token: int | None) -> OutgoingRequest:
        call, session = attempt.call, attempt.session
        if session.peer.era is Era.STATELESS:
            return session.outgoing("tools/call", _members(call, token), self._declared(call))
        meta = relay.outgoing_meta(call.meta, token) if call.meta else {}
        return OutgoingRequest(
            "tools/call", relay.call_params(_encode(call.tool.name), call.arguments, meta, call.more)
        )

    def _declared(self, call: Call) -> dict[str, Any]:
        """The capabilities that the server is told for this call."""
        declared = declared_for(self._server.spec, call.caller.capabilities)
        return with_tasks(declared) if follows(call.caller) or is_background(call) else declared


def _members(call: Call, token: int | None) -> dict[str, Any]:
    meta: dict[str, Any] = relay.outgoing_meta(call.meta, token) if call.meta else {}
    if call.talk.level:
        meta[metas.LOG_LEVEL] = call.talk.level
    return {"name": call.tool.name, "arguments": Raw(call.arguments), "_meta": meta, **relay.further(call.more)}


def _may_repeat(tool: Tool) -> bool:
    """Whether a lost call, which may have run, can be repeated: only if the tool is read-only or idempotent."""
    return tool.annotations.read_only_hint or tool.annotations.idempotent_hint

"""Tool calls that a server answers with a task, followed here for agents that cannot follow it themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from clawft.errors import (
    METHOD_NOT_FOUND,
    ClawftError,
    ExecutionFailed,
    JsonRpcFailure,
    ProtocolFailure,
    RequestTimeout,
)
from clawft.link.base import OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.link.share.large_messages import process_message
from clawft.model import Call, Caller, Era, InputRequired, Kind, Question, Reply
from clawft.provider.server import relay
from clawft.provider.server.attempt import Attempt
from clawft.provider.server.call import news
from clawft.provider.server.call.task_requests import TaskRequests, bare_result, result_of
from clawft.provider.server.question import carried_state
from clawft.provider.server.relayed_server import RelayedServer
from clawft.upstream.flights import Flight
from clawft.upstream.session.peer import UnfinishedResult, read_asked
from clawft.upstream.session.session import MAX_ROUNDS, Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.wire import tasks
from clawft.wire.jsonrpc.messages import NULL, Failure

LEAVING_SECONDS = 2.0
"""Time for a server to name the task of a call whose caller has left."""

_encode = msgspec.json.encode


class TaskCalls:
    """The calls of one server that became tasks there."""

    def __init__(self, server: RelayedServer) -> None:
        self._server = server
        self._questions = server.questions
        self._requests = TaskRequests(server)

    async def run(self, attempt: Attempt, members: Mapping[str, Any]) -> Reply:
        """Call a tool that works only as a task, and return its result like that of an ordinary call."""
        call, session = attempt.call, attempt.session
        if session.peer.era is Era.HANDSHAKE:
            return await self._run_older(attempt, members)
        outgoing = session.outgoing("tools/call", members, self._requests.declared(call.caller))
        created = await self._create(attempt, outgoing, Deadline(call.tool.name, attempt.seconds))
        reply = relay.reply_of(created, stateless=True, older=call.caller.era is Era.HANDSHAKE)
        return await self.finish(attempt, created) if reply.kind is Kind.TASK else reply

    async def resume(self, attempt: Attempt, id: str) -> Reply:
        """Continue a task whose questions the agent has answered."""
        return await self.finish(attempt, await self._look(attempt, id))

    async def _look(self, attempt: Attempt, id: str) -> bytes:
        return await self._requests.send(attempt.session, "tasks/get", {"taskId": id}, attempt.call.caller)

    async def finish(self, attempt: Attempt, shape: bytes) -> Reply:
        """Poll the task until it has ended. If the call is cancelled, or takes too long, so is the task."""
        call, session, name = attempt.call, attempt.session, self._server.name
        id = tasks.read(shape).task_id
        answered = _Answered()
        try:
            async with asyncio.timeout(attempt.seconds * HARD_LIMIT_FACTOR):
                while _reported(call, shape, id).status not in tasks.FINAL:
                    await self._wait(attempt, shape, answered)
                    shape = await self._look(attempt, id)
        except TimeoutError:
            self._requests.cancel_soon(session, id, call.caller)
            most, quiet = int(attempt.seconds * HARD_LIMIT_FACTOR * 1000), round(attempt.seconds * 1000)
            raise RequestTimeout(call.tool.name, most, f", the most that a task has of {quiet} ms") from None
        except asyncio.CancelledError:
            self._requests.cancel_soon(session, id, call.caller)
            raise
        except JsonRpcFailure as refused:  # which answers a request of ours, and not the agent's
            raise ProtocolFailure(f"its task is lost: {refused.message} (code {refused.error_code})") from None
        return await process_message(shape, name, lambda: _outcome(call, name, tasks.read(shape)))

    async def _wait(self, attempt: Attempt, shape: bytes, answered: _Answered) -> None:
        """Wait before the next poll: for a moment, or for the answers to the task's questions."""
        call, session = attempt.call, attempt.session
        seen = tasks.read(shape)
        try:
            wanted = answered.not_yet(shape) if seen.status == tasks.ASKING else None
            if wanted is None:
                await asyncio.sleep(news.pause(shape))
                return
            carry = carried_state.encode(carried_state.WorkingTask(seen.task_id))
            answers = await self._questions.rounds(call).members(wanted, carry)
        except InputRequired:
            raise
        except ClawftError:
            self._requests.cancel_soon(session, seen.task_id, call.caller)
            raise
        await self._requests.send(session, "tasks/update", {"taskId": seen.task_id, **answers}, call.caller)

    async def _create(self, attempt: Attempt, outgoing: OutgoingRequest, deadline: Deadline) -> bytes:
        """Begin the task. If the call is cancelled now, the task's id is awaited, to cancel it too."""
        session = attempt.session
        asked = asyncio.ensure_future(bare_result(session, outgoing, deadline))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            session.start_task(self._cancel_created(session, asked, attempt.call.caller))
            raise

    async def _cancel_created(self, session: Session, asked: asyncio.Future[bytes], caller: Caller) -> None:
        try:
            async with asyncio.timeout(LEAVING_SECONDS):
                created = await asked
        except (TimeoutError, ClawftError):
            return
        older = session.peer.era is Era.HANDSHAKE
        task = tasks.read_created(created) if older else created
        if task is not None:
            await self._requests.cancel(session, tasks.read(task).task_id, caller)

    # ── servers of 2025-11-25 ────────────────────────────────────────────────────────────────────────────────────────

    async def _run_older(self, attempt: Attempt, members: Mapping[str, Any]) -> Reply:
        """Ask for a task, and then for its result, which is answered when it is there."""
        call = attempt.call
        flight = Flight(call, call.tool.name, attempt.seconds * HARD_LIMIT_FACTOR)
        if call.caller.era is Era.STATELESS and not call.caller.capabilities.tasks:
            flight.opened = _Unasked()
        flights = attempt.upstream.flights
        flights[flight] = None
        try:
            outgoing = OutgoingRequest("tools/call", _encode({**members, "task": news.wish(call)}))
            created = await self._create(attempt, outgoing, flight)
            task = tasks.read_created(created)
            if task is None:
                return relay.reply_of(created, stateless=False)
            return await self._result_older(attempt, task, flight)
        finally:
            del flights[flight]
            flight.finish_questions(flights)

    async def _result_older(self, attempt: Attempt, task: bytes, deadline: Deadline) -> Reply:
        call, session = attempt.call, attempt.session
        id = tasks.read(task).task_id
        outgoing = OutgoingRequest("tasks/result", _encode({"taskId": id}))
        following = news.followed(call, attempt.upstream.interest, task, partial(self._look, attempt, id))
        try:
            async with following if news.is_background(call) else nullcontext():
                result = await bare_result(session, outgoing, deadline)
            if not tasks.is_of(result, id):
                raise ProtocolFailure("asked for the result of one task, it gave that of another")
            return await process_message(result, self._server.name, partial(_older_reply, result))
        except (asyncio.CancelledError, RequestTimeout):
            self._requests.cancel_soon(session, id, call.caller)
            raise


class _Answered:
    """The questions of a task that were put while we follow it: each once, and not without end."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._rounds = 0

    def not_yet(self, shape: bytes) -> UnfinishedResult | None:
        """The new questions in it; None if the task has not taken up earlier answers yet."""
        wanted = read_asked(shape)
        if not wanted.input_requests:
            raise ProtocolFailure("a task that waits for input, but does not say for what")
        new = {key: asked for key, asked in wanted.input_requests.items() if key not in self._keys}
        if not new:
            return None
        if self._rounds >= MAX_ROUNDS:
            raise ProtocolFailure(f"a task that still asks after {MAX_ROUNDS} rounds")
        self._rounds += 1
        self._keys |= new.keys()
        return msgspec.structs.replace(wanted, input_requests=new)


class _Unasked:
    """Stands for an agent that answers with later requests but follows no tasks: it cannot be asked."""

    async def ask(self, question: Question) -> Mapping[str, Any]:
        raise JsonRpcFailure(METHOD_NOT_FOUND, f"{question.method}: the calling agent cannot follow the task that asks")


def _reported(call: Call, shape: bytes, id: str) -> tasks.TaskView:
    seen = tasks.read(shape, id)
    news.tell(call, shape)
    return seen


def _older_reply(result: bytes) -> Reply:
    """The reply without the task's metadata: the task was between the server and us."""
    return relay.reply_of(tasks.unrelated(result), stateless=False)


def _outcome(call: Call, server: str, seen: tasks.TaskView) -> Reply:
    if seen.status == "completed":
        return result_of(seen, older=call.caller.era is Era.HANDSHAKE)
    if seen.status == "failed" and seen.error is not UNSET:
        raise Failure(NULL, bytes(seen.error)).read()
    raise ExecutionFailed(f"{server}: the task was {seen.status}, without a result")

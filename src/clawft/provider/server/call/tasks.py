"""Calls that a server answers with a task, followed by the agent where it can, and by us where it cannot."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from clawft.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    BadParams,
    ClawftError,
    ExecutionFailed,
    JsonRpcFailure,
    LinkError,
    ProtocolFailure,
    RequestTimeout,
)
from clawft.link.base import OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.link.share.large_messages import process_message
from clawft.model import Call, Caller, Era, InputRequired, Kind, Question, Reply
from clawft.provider.server import relay
from clawft.provider.server.call import news
from clawft.provider.server.call.refusal import failed, passed_on
from clawft.provider.server.call.server_calls import BROKEN
from clawft.provider.server.question import carried_state
from clawft.provider.server.question.questions import read_question
from clawft.provider.server.question.rounds import MAX_AT_ONCE
from clawft.provider.server.question.server_questions import ServerQuestions
from clawft.upstream.flights import Flight
from clawft.upstream.interest.interest import TELL_SECONDS
from clawft.upstream.session.peer import InputRequest, UnfinishedResult, read_asked
from clawft.upstream.session.session import MAX_ROUNDS, Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR, UpstreamSpec
from clawft.upstream.upstream import Upstream
from clawft.wire import meta as metas
from clawft.wire import tasks
from clawft.wire.jsonrpc.messages import NULL, Failure

LEAVING_SECONDS = 2.0
"""Time for a server to name the task of a call whose caller has left."""

log = logging.getLogger("clawft.upstream")

_encode = msgspec.json.encode
_object = msgspec.json.Decoder(dict[str, Raw])
_FOLLOWER = Caller(era=Era.STATELESS)
"""Stands for the agents that follow tasks of servers: only those of this era do."""


def follows(caller: Caller) -> bool:
    """Whether this agent can follow a task of the extension by itself."""
    return caller.era is Era.STATELESS and caller.capabilities.tasks


def needs_tasks(error: JsonRpcFailure) -> bool:
    """Whether an error says that the tool works only as a task."""
    return metas.TASKS in _encode(error.error_data).decode()


class ForeignTasks:
    """The tasks of one server, which alone knows their state."""

    def __init__(self, spec: UpstreamSpec, of: Callable[[Caller], Upstream], questions: ServerQuestions) -> None:
        """`of` gives the upstream that this caller uses."""
        self._of = of
        self._questions = questions
        self._spec = spec

    # ── for agents that follow tasks themselves ──────────────────────────────────────────────────────────────────────

    async def get(self, id: str, caller: Caller) -> bytes:
        return self._shown(await self._about("tasks/get", id, caller), id)

    def _shown(self, shape: bytes, id: str) -> bytes:
        """The state as agents may see it, its questions checked and named like those of any call."""
        try:
            relay.must_be_readable(shape, "a task")
            seen = tasks.read(shape, id)
            if seen.status == "completed":
                _result_of(seen)
            if seen.error is not UNSET:
                Failure(NULL, bytes(seen.error)).read()
            asked = {} if seen.input_requests is UNSET else read_asked(shape).input_requests
        except ProtocolFailure as wrong:
            raise ProtocolFailure(f"{self._spec.name}: {wrong.message}") from None
        if seen.input_requests is UNSET:
            return shape
        members = _object.decode(shape)
        if len(asked) > MAX_AT_ONCE:
            raise ProtocolFailure(
                f"{self._spec.name}: a task asks {len(asked)} questions at once; {MAX_AT_ONCE} at most"
            )
        return _encode({**members, "inputRequests": {key: self._question(each) for key, each in asked.items()}})

    def _question(self, asked: InputRequest) -> Question:
        try:
            return read_question(self._spec, asked.method, bytes(asked.params), _FOLLOWER)
        except JsonRpcFailure as refused:
            raise ProtocolFailure(f"{self._spec.name}: a task asks what it may not: {refused.message}") from None

    async def update(self, id: str, caller: Caller, responses: Mapping[str, Raw]) -> None:
        await self._about("tasks/update", id, caller, inputResponses=responses)

    async def cancel(self, id: str, caller: Caller) -> None:
        await self._about("tasks/cancel", id, caller)

    async def watch(self, id: str, caller: Caller, changed: Callable[[bytes], None]) -> Callable[[], None]:
        """Watch a task; returns when the server knows of it. Raises Busy if too many are watched."""
        interest = self._of(caller).interest
        release = interest.watch(interest.tasks, id, lambda shape: self._changed(shape, id, changed))
        try:
            await interest.settled(TELL_SECONDS)
        except BaseException:
            release()
            raise
        return release

    def _changed(self, shape: bytes, id: str, changed: Callable[[bytes], None]) -> None:
        """Report a new state. A malformed one is dropped: the agent hears why when it asks for the task."""
        try:
            changed(self._shown(shape, id))
        except (ProtocolFailure, msgspec.DecodeError) as wrong:
            log.info("%s: news of a task are passed over: %s", self._spec.name, wrong)

    async def _about(self, method: str, id: str, caller: Caller, **members: Any) -> bytes:
        session = await self._of(caller).connected(self._spec.timeout_ms / 1000)
        try:
            return await self._ask(session, method, {"taskId": id, **members}, caller)
        except JsonRpcFailure as refused:
            told = passed_on(self._spec.name, refused)
            if refused.error_code == INVALID_PARAMS:
                raise BadParams(f"{self._spec.name}: {told.message}") from None
            raise told from None
        except BROKEN as wrong:
            raise failed(self._spec.name, wrong) from None

    async def _ask(self, session: Session, method: str, members: Mapping[str, Any], caller: Caller) -> bytes:
        outgoing = session.outgoing(method, members, self.told(caller))
        answer = await session.link.request(outgoing, Deadline(method, self._spec.timeout_ms / 1000))
        if isinstance(answer, Failure):
            raise answer.read()
        return answer.result

    def told(self, caller: Caller) -> dict[str, Any]:
        """The capabilities declared to the server for an agent that follows tasks."""
        told = self._questions.told(caller)
        return {**told, "extensions": {**told.get("extensions", {}), metas.TASKS: {}}}

    # ── for those that do not ────────────────────────────────────────────────────────────────────────────────────────

    async def call(self, call: Call, session: Session, members: Mapping[str, Any], seconds: float) -> Reply:
        """Call a tool that works only as a task, and return its result like that of an ordinary call."""
        if session.peer.era is Era.HANDSHAKE:
            return await self._call_older(call, session, members, seconds)
        outgoing = session.outgoing("tools/call", members, self.told(call.caller))
        created = await self._create(call, session, outgoing, Deadline(call.tool.name, seconds))
        reply = relay.reply_of(created, stateless=True, older=call.caller.era is Era.HANDSHAKE)
        return await self.finish(call, session, created, seconds) if reply.kind is Kind.TASK else reply

    async def resume(self, call: Call, session: Session, id: str, seconds: float) -> Reply:
        """Continue a task whose questions the agent has answered."""
        return await self.finish(
            call, session, await self._ask(session, "tasks/get", {"taskId": id}, call.caller), seconds
        )

    async def finish(self, call: Call, session: Session, shape: bytes, seconds: float) -> Reply:
        """Poll the task until it has ended. If the call is cancelled, or takes too long, so is the task."""
        id = tasks.read(shape).task_id
        answered = _Answered()
        try:
            async with asyncio.timeout(seconds * HARD_LIMIT_FACTOR):
                while _told(call, shape, id).status not in tasks.FINAL:
                    await self._wait(call, session, shape, answered)
                    shape = await self._ask(session, "tasks/get", {"taskId": id}, call.caller)
        except TimeoutError:
            self._cancel_aside(session, id, call.caller)
            most, quiet = int(seconds * HARD_LIMIT_FACTOR * 1000), round(seconds * 1000)
            raise RequestTimeout(call.tool.name, most, f", the most that a task has of {quiet} ms") from None
        except asyncio.CancelledError:
            self._cancel_aside(session, id, call.caller)
            raise
        except JsonRpcFailure as refused:  # which answers a request of ours, and not the agent's
            raise ProtocolFailure(f"its task is lost: {refused.message} (code {refused.error_code})") from None
        return await process_message(shape, self._spec.name, lambda: _outcome(call, self._spec.name, tasks.read(shape)))

    async def _wait(self, call: Call, session: Session, shape: bytes, answered: _Answered) -> None:
        """Wait before the next poll: for a moment, or for the answers to the task's questions."""
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
            self._cancel_aside(session, seen.task_id, call.caller)
            raise
        await self._ask(session, "tasks/update", {"taskId": seen.task_id, **answers}, call.caller)

    async def _call_older(self, call: Call, session: Session, members: Mapping[str, Any], seconds: float) -> Reply:
        """Call a server of 2025-11-25: ask for a task, and then for its result, which is answered when it is there."""
        flight = Flight(call, call.tool.name, seconds * HARD_LIMIT_FACTOR)
        if call.caller.era is Era.STATELESS and not call.caller.capabilities.tasks:
            flight.opened = _Unasked()
        flights = self._of(call.caller).flights
        flights[flight] = None
        try:
            outgoing = OutgoingRequest("tools/call", _encode({**members, "task": news.wish(call)}))
            created = await self._create(call, session, outgoing, flight)
            task = tasks.read_created(created)
            if task is None:
                return relay.reply_of(created, stateless=False)
            return await self._result_older(call, session, task, flight)
        finally:
            del flights[flight]
            flight.finish_questions(flights)

    async def _result_older(self, call: Call, session: Session, task: bytes, deadline: Deadline) -> Reply:
        id = tasks.read(task).task_id
        outgoing = OutgoingRequest("tasks/result", _encode({"taskId": id}))
        look = partial(self._ask, session, "tasks/get", {"taskId": id}, call.caller)
        following = news.followed(call, self._of(call.caller).interest, task, look)
        try:
            async with following if news.is_background(call) else nullcontext():
                result = await _result(session, outgoing, deadline)
            if not tasks.is_of(result, id):
                raise ProtocolFailure("asked for the result of one task, it gave that of another")
            return await process_message(result, self._spec.name, partial(_older_reply, result))
        except (asyncio.CancelledError, RequestTimeout):
            self._cancel_aside(session, id, call.caller)
            raise

    async def _create(self, call: Call, session: Session, outgoing: OutgoingRequest, deadline: Deadline) -> bytes:
        """Begin the task. If the call is cancelled now, the task's id is awaited, to cancel it too."""
        asked = asyncio.ensure_future(_result(session, outgoing, deadline))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            session.start_task(self._cancel_created(session, asked, call.caller))
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
            await self._cancel(session, tasks.read(task).task_id, caller)

    def _cancel_aside(self, session: Session, id: str, caller: Caller) -> None:
        """Cancel the task in the background, as the caller is leaving."""
        session.start_task(self._cancel(session, id, caller))

    async def _cancel(self, session: Session, id: str, caller: Caller) -> None:
        try:
            await self._ask(session, "tasks/cancel", {"taskId": id}, caller)
        except (LinkError, ProtocolFailure) as wrong:
            log.info("%s: the task %s could not be cancelled: %s", self._spec.name, id, wrong)


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


async def _result(session: Session, outgoing: OutgoingRequest, deadline: Deadline) -> bytes:
    answer = await session.link.request(outgoing, deadline)
    if isinstance(answer, Failure):
        raise answer.read()
    return answer.result


def _told(call: Call, shape: bytes, id: str) -> tasks.TaskView:
    seen = tasks.read(shape, id)
    news.tell(call, shape)
    return seen


def _older_reply(result: bytes) -> Reply:
    """The reply without the task's metadata: the task was between the server and us."""
    return relay.reply_of(tasks.unrelated(result), stateless=False)


def _outcome(call: Call, server: str, seen: tasks.TaskView) -> Reply:
    if seen.status == "completed":
        return _result_of(seen, older=call.caller.era is Era.HANDSHAKE)
    if seen.status == "failed" and seen.error is not UNSET:
        raise Failure(NULL, bytes(seen.error)).read()
    raise ExecutionFailed(f"{server}: the task was {seen.status}, without a result")


def _result_of(seen: tasks.TaskView, *, older: bool = False) -> Reply:
    if seen.result is UNSET:
        raise ProtocolFailure("a task that was completed, without a result")
    reply = relay.reply_of(bytes(seen.result), stateless=True, older=older)
    if reply.kind is not Kind.COMPLETE:
        raise ProtocolFailure("a task that was completed, with a result that is not")
    return reply

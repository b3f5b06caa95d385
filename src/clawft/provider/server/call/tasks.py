"""The tasks of a server, for agents that follow them by themselves."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from clawft.errors import INVALID_PARAMS, BadParams, JsonRpcFailure, ProtocolFailure
from clawft.model import Caller, Era, Question
from clawft.provider.server import relay
from clawft.provider.server.call.refusal import failed, passed_on
from clawft.provider.server.call.server_calls import BROKEN
from clawft.provider.server.call.task_requests import TaskRequests, result_of
from clawft.provider.server.question.questions import read_question
from clawft.provider.server.question.rounds import MAX_AT_ONCE
from clawft.provider.server.relayed_server import RelayedServer
from clawft.upstream.interest.interest import TELL_SECONDS
from clawft.upstream.session.peer import InputRequest, read_asked
from clawft.upstream.upstream import Upstream
from clawft.wire import tasks
from clawft.wire.jsonrpc.messages import NULL, Failure

log = logging.getLogger("clawft.upstream")

_encode = msgspec.json.encode
_object = msgspec.json.Decoder(dict[str, Raw])
_FOLLOWER = Caller(era=Era.STATELESS)
"""Stands for the agents that follow tasks of servers: only those of this era do."""


class ForeignTasks:
    """The tasks of one server, which alone knows their state."""

    def __init__(self, server: RelayedServer) -> None:
        self._server = server
        self._requests = TaskRequests(server)

    async def get(self, id: str, caller: Caller) -> bytes:
        return self._shown(self._server.upstream_of(caller), await self._about("tasks/get", id, caller), id)

    def _shown(self, upstream: Upstream, shape: bytes, id: str) -> bytes:
        """The state as agents may see it. Raises ProtocolFailure, naming the server, and counts it for its status."""
        try:
            return self._checked(shape, id)
        except ProtocolFailure as wrong:
            upstream.failed_a_request(wrong)
            raise ProtocolFailure(f"{self._server.name}: {wrong.message}") from None

    def _checked(self, shape: bytes, id: str) -> bytes:
        """The state as agents may see it, its questions checked and named like those of any call."""
        relay.must_be_readable(shape, "a task")
        seen = tasks.read(shape, id)
        if seen.status == "completed":
            result_of(seen)
        if seen.error is not UNSET:
            Failure(NULL, bytes(seen.error)).read()
        if seen.input_requests is UNSET:
            return shape
        asked, members = read_asked(shape).input_requests, _object.decode(shape)
        if len(asked) > MAX_AT_ONCE:
            raise ProtocolFailure(f"a task asks {len(asked)} questions at once; {MAX_AT_ONCE} at most")
        return _encode({**members, "inputRequests": {key: self._question(each) for key, each in asked.items()}})

    def _question(self, asked: InputRequest) -> Question:
        try:
            return read_question(self._server.spec, asked.method, bytes(asked.params), _FOLLOWER)
        except JsonRpcFailure as refused:
            raise ProtocolFailure(f"a task asks a question that is not allowed: {refused.message}") from None

    async def update(self, id: str, caller: Caller, responses: Mapping[str, Raw]) -> None:
        await self._about("tasks/update", id, caller, inputResponses=responses)

    async def cancel(self, id: str, caller: Caller) -> None:
        await self._about("tasks/cancel", id, caller)

    async def watch(self, id: str, caller: Caller, changed: Callable[[bytes], None]) -> Callable[[], None]:
        """Watch a task; returns when the server knows of it. Raises Busy if too many are watched."""
        upstream = self._server.upstream_of(caller)
        interest = upstream.interest
        release = interest.watch(interest.tasks, id, lambda shape: self._changed(upstream, shape, id, changed))
        try:
            await interest.settled(TELL_SECONDS)
        except BaseException:
            release()
            raise
        return release

    def _changed(self, upstream: Upstream, shape: bytes, id: str, changed: Callable[[bytes], None]) -> None:
        """Report a new state. A malformed one is dropped: the agent hears why when it asks for the task."""
        try:
            changed(self._shown(upstream, shape, id))
        except (ProtocolFailure, msgspec.DecodeError) as wrong:
            log.info("%s: news of a task are passed over: %s", self._server.name, wrong)

    async def _about(self, method: str, id: str, caller: Caller, **members: Any) -> bytes:
        session = await self._server.upstream_of(caller).connected(self._requests.seconds)
        try:
            return await self._requests.send(session, method, {"taskId": id, **members}, caller)
        except JsonRpcFailure as refused:
            passed = passed_on(self._server.name, refused)
            if refused.error_code == INVALID_PARAMS:
                raise BadParams(f"{self._server.name}: {passed.message}") from None
            raise passed from None
        except BROKEN as wrong:
            raise failed(self._server.name, wrong) from None

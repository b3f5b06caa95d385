"""Requests to a server about its tasks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from clawft.errors import JsonRpcFailure, LinkError, ProtocolFailure
from clawft.link.base import OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.model import Caller, Era, Kind, Reply
from clawft.provider.server import relay
from clawft.provider.server.relayed_server import RelayedServer
from clawft.upstream.session.capabilities import declared_for
from clawft.upstream.session.session import Session
from clawft.wire import meta as metas
from clawft.wire import tasks
from clawft.wire.jsonrpc.messages import Failure

log = logging.getLogger("clawft.upstream")

_encode = msgspec.json.encode


def follows(caller: Caller) -> bool:
    """Whether this agent can follow a task of the extension by itself."""
    return caller.era is Era.STATELESS and caller.capabilities.tasks


def needs_tasks(error: JsonRpcFailure) -> bool:
    """Whether an error says that the tool works only as a task."""
    return metas.TASKS in _encode(error.error_data).decode()


def with_tasks(declared: Mapping[str, Any]) -> dict[str, Any]:
    """The capabilities declared to the server for an agent that follows tasks."""
    return {**declared, "extensions": {**declared.get("extensions", {}), metas.TASKS: {}}}


class TaskRequests:
    """Sends requests about the tasks of one server."""

    def __init__(self, server: RelayedServer) -> None:
        self._server = server
        self.seconds = server.spec.timeout_ms / 1000
        """How long the server may take for each."""

    async def send(self, session: Session, method: str, members: Mapping[str, Any], caller: Caller) -> bytes:
        outgoing = session.outgoing(method, members, self.declared(caller))
        return await bare_result(session, outgoing, Deadline(method, self.seconds))

    def declared(self, caller: Caller) -> dict[str, Any]:
        return with_tasks(declared_for(self._server.spec, caller.capabilities))

    def cancel_soon(self, session: Session, id: str, caller: Caller) -> None:
        """Cancel the task in the background, as the caller is leaving."""
        session.start_task(self.cancel(session, id, caller))

    async def cancel(self, session: Session, id: str, caller: Caller) -> None:
        """Cancel the task. A server that does not let it be cancelled is only noted in the log."""
        try:
            await self.send(session, "tasks/cancel", {"taskId": id}, caller)
        except (LinkError, ProtocolFailure) as wrong:
            log.info("%s: the task %s could not be cancelled: %s", self._server.name, id, wrong)


async def bare_result(session: Session, outgoing: OutgoingRequest, deadline: Deadline) -> bytes:
    answer = await session.link.request(outgoing, deadline)
    if isinstance(answer, Failure):
        raise answer.read()
    return answer.result


def result_of(seen: tasks.TaskView, *, older: bool = False) -> Reply:
    """The reply of a completed task. Raises ProtocolFailure if it has no whole result."""
    if seen.result is UNSET:
        raise ProtocolFailure("a task that was completed, without a result")
    reply = relay.reply_of(bytes(seen.result), stateless=True, older=older)
    if reply.kind is not Kind.COMPLETE:
        raise ProtocolFailure("a task that was completed, with a result that is not")
    return reply

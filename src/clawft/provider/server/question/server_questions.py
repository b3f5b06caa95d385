"""Requests to servers that may ask questions before they answer, for agents and servers of both eras."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from clawft.errors import RequestTimeout
from clawft.link.base import OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.model import Call, Era
from clawft.provider.server import relay
from clawft.provider.server.attempt import Attempt
from clawft.provider.server.question import carried_state
from clawft.provider.server.question.open_requests import OpenRequests, may_park
from clawft.provider.server.question.rounds import Rounds
from clawft.provider.server.question.urls import consented
from clawft.provider.server.relayed_server import RelayedServer
from clawft.upstream.flights import GIVEN_UP, Flight
from clawft.upstream.session.capabilities import declared_for
from clawft.upstream.session.peer import UnfinishedResult, read_wanted
from clawft.upstream.session.session import Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.wire import meta as metas
from clawft.wire.jsonrpc.messages import Failure, Response

MakeRequest = Callable[[int | None], OutgoingRequest]
"""Makes the request with this progress token."""


class ServerQuestions:
    """Sends requests to one server and has its questions answered on the way."""

    def __init__(self, server: RelayedServer) -> None:
        self._server = server
        self._following = server.following
        self._open = OpenRequests(server)

    # ── a request ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def send(self, attempt: Attempt, flight: Flight, make: MakeRequest) -> Response | Failure:
        """Send the request and await its answer; progress and questions of the server find it by its flight.

        Raises InputRequired if a handshake server asks what the agent answers with a later request.
        """
        call, upstream = attempt.call, attempt.upstream
        token = self._following.begin(call.talk, flight) if call.meta and relay.wants_progress(call.meta) else None
        upstream.flights[flight] = None
        if call.caller.era is Era.STATELESS and may_park(call.caller, attempt.session):
            return await self._open.begin(attempt, flight, make(token), token)
        try:
            return await attempt.session.link.request(make(token), flight)
        except GIVEN_UP:
            upstream.abandoned.note(flight)
            raise
        finally:
            del upstream.flights[flight]
            if flight.answering:
                flight.finish_questions(upstream.flights)
            if token is not None:
                self._following.end(token)

    async def request(self, attempt: Attempt, method: str, members: Mapping[str, Any]) -> tuple[bytes, bool]:
        """The bare result of a request other than a tool call, and whether it asked questions on the way."""
        call, session = attempt.call, attempt.session
        declared = declared_for(self._server.spec, call.caller.capabilities)
        complete = partial(self.complete, attempt, method, _with_meta(call, session, members, None))
        known = carried_state.read(call.talk.carried) if call.talk.carried else None
        if isinstance(known, carried_state.Round):
            return await complete(known.wanted, declared), True
        if isinstance(known, carried_state.ParkedCall):
            return _result(await self.go_on(call, known.id)), True
        if isinstance(known, carried_state.RepeatedCall):
            await consented(self._server.name, call)

        def make(token: int | None) -> OutgoingRequest:
            return session.outgoing(method, _with_meta(call, session, members, token), declared)

        flight = Flight(call, method, attempt.seconds, attempt.seconds * HARD_LIMIT_FACTOR)
        result = _result(await self.send(attempt, flight, make))
        wanted = read_wanted(result) if session.peer.era is Era.STATELESS else None
        return (result, False) if wanted is None else (await complete(wanted, declared), True)

    # ── its questions ────────────────────────────────────────────────────────────────────────────────────────────────

    async def go_on(self, call: Call, id: str) -> Response | Failure:
        """Continue a request to a handshake server, as the agent has come back. Raises BadParams if there is none."""
        return await self._open.go_on(call, id)

    async def complete(
        self,
        attempt: Attempt,
        method: str,
        members: Mapping[str, Any],
        wanted: UnfinishedResult,
        declared: Mapping[str, Any],
    ) -> bytes:
        """The whole result of a stateless server, after answering its questions.

        `declared` are the capabilities it is told. Raises InputRequired where an answer takes another request.
        """
        session, seconds = attempt.session, attempt.seconds
        left = most = attempt.seconds * HARD_LIMIT_FACTOR

        async def send(answers: Mapping[str, Any]) -> bytes:
            """Repeat the request. Each round has the time of a call, and all have its limit, without people's time."""
            nonlocal left
            if left <= 0:
                raise RequestTimeout(method, round(most * 1000))
            began = time.monotonic()
            outgoing = session.outgoing(method, {**members, **answers}, declared)
            try:
                return _result(await session.link.request(outgoing, Deadline(method, seconds)))
            finally:
                left -= time.monotonic() - began

        return await self.rounds(attempt.call).complete(wanted, send)

    def rounds(self, call: Call) -> Rounds:
        return Rounds(self._server, call)


def _with_meta(call: Call, session: Session, members: Mapping[str, Any], token: int | None) -> Mapping[str, Any]:
    meta: dict[str, Any] = relay.outgoing_meta(call.meta, token) if call.meta else {}
    if call.talk.level and session.peer.era is Era.STATELESS:
        meta[metas.LOG_LEVEL] = call.talk.level
    members = {**members, **relay.further(call.more)}
    return {**members, "_meta": meta} if meta else members


def _result(answer: Response | Failure) -> bytes:
    if isinstance(answer, Failure):
        raise answer.read()
    return answer.result

"""Requests to servers that may ask questions before they answer, for agents and servers of both eras."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from clawft.errors import RequestTimeout
from clawft.link.base import OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.model import Call, Caller, Era, InputRequired, SilentTalk
from clawft.provider.server import relay
from clawft.provider.server.progress_following import ProgressFollowing
from clawft.provider.server.question import carried_state
from clawft.provider.server.question.handshake_questions import Roots
from clawft.provider.server.question.open_call import OpenCall
from clawft.provider.server.question.parked_calls import Park
from clawft.provider.server.question.rounds import Rounds
from clawft.provider.server.question.urls import consented
from clawft.upstream.flights import GIVEN_UP, Flight
from clawft.upstream.session.capabilities import declared_for
from clawft.upstream.session.peer import UnfinishedResult, read_wanted
from clawft.upstream.session.session import Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR, UpstreamSpec
from clawft.upstream.upstream import Upstream
from clawft.wire import meta as metas
from clawft.wire.jsonrpc.messages import Failure, Response


def may_park(agent: Caller, session: Session) -> bool:
    """Whether the server may send a question that this agent answers with a later request."""
    can = agent.capabilities
    able = can.elicit_form or can.sampling or can.roots or can.elicit_url
    return able and agent.era is Era.STATELESS and session.peer.era is Era.HANDSHAKE


class ServerQuestions:
    """The questions of one server. `park` is shared by all servers."""

    def __init__(
        self, spec: UpstreamSpec, following: ProgressFollowing, park: Park, roots: Roots, visited: Callable[[str], None]
    ) -> None:
        """`visited` is called when a person is done at an address they were sent to."""
        self._spec = spec
        self._following = following
        self._park = park
        self._roots = roots
        self._visited = visited

    # ── handshake servers: the call stays open ───────────────────────────────────────────────────────────────────────

    async def begin(
        self,
        call: Call,
        upstream: Upstream,
        session: Session,
        outgoing: OutgoingRequest,
        flight: Flight,
        token: int | None = None,
    ) -> Response | Failure:
        """Make the request so that it outlives the agent's. Raises InputRequired if the server asks first."""

        request = session.link.request(outgoing, flight)
        del outgoing  # which may be large: the link lets go of it once it is sent
        opened = flight.opened = OpenCall(self._spec.name, flight, request, token)
        opened.answer.add_done_callback(lambda _: self._landed(upstream, opened))
        return await self._follow(call, opened)

    def _landed(self, upstream: Upstream, opened: OpenCall) -> None:
        """The server has answered, or never will: clean up."""
        del upstream.flights[opened.flight]
        if opened.is_given_up:
            upstream.abandoned.note(opened.flight)
        if opened.token is not None:
            self._following.end(opened.token)
        successor = opened.flight.successor(upstream.flights)
        if successor is not None and isinstance(successor.opened, OpenCall):
            opened.hand_questions_to(successor.opened)
        opened.flight.opened = None  # or each would hold the other, and both a result that may be large

    async def go_on(self, call: Call, id: str) -> Response | Failure:
        """Continue when the agent has come back. Raises BadParams if there is no such call."""
        opened = self._park.take(id, self._spec.name, call.caller)
        opened.flight.call = call
        self._tell_progress_to(opened, call)
        return await self._follow(call, opened)

    async def _follow(self, call: Call, opened: OpenCall) -> Response | Failure:
        """Wait for the server's answer, or ask the agent."""
        carry = carried_state.encode(carried_state.ParkedCall(opened.id))
        try:
            while not await opened.is_answered():
                opened.fill(await _ask_while_open(call, opened, carry))
        except InputRequired:
            self._tell_progress_to(opened, None)
            self._park.keep(opened, call.caller)
            raise
        except BaseException:
            opened.end("the call was cancelled")
            raise
        return opened.answer.result()

    def _tell_progress_to(self, opened: OpenCall, call: Call | None) -> None:
        if opened.token is not None and not opened.answer.done():
            self._following.hand_over(opened.token, SilentTalk() if call is None else call.talk)

    # ── stateless servers: the request is made again ─────────────────────────────────────────────────────────────────

    async def complete(
        self,
        call: Call,
        session: Session,
        method: str,
        members: Mapping[str, Any],
        wanted: UnfinishedResult,
        seconds: float,
        told: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The whole result, after answering the questions. Raises InputRequired where that takes another request.

        `told` are the declared capabilities, if they are more than those for other calls.
        """
        told = self.told(call.caller) if told is None else told
        left = most = seconds * HARD_LIMIT_FACTOR

        async def send(answers: Mapping[str, Any]) -> bytes:
            """Repeat the request. Each round has the time of a call, and all have its limit, without people's time."""
            nonlocal left
            if left <= 0:
                raise RequestTimeout(method, round(most * 1000))
            began = time.monotonic()
            outgoing = session.outgoing(method, {**members, **answers}, told)
            try:
                return _result(await session.link.request(outgoing, Deadline(method, seconds)))
            finally:
                left -= time.monotonic() - began

        return await self.rounds(call).complete(wanted, send)

    def rounds(self, call: Call) -> Rounds:
        return Rounds(self._spec, call, self._roots, self._visited)

    def told(self, agent: Caller) -> dict[str, Any]:
        """The capabilities declared to a stateless server for this agent."""
        return declared_for(self._spec, agent.capabilities)

    # ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def request(
        self, call: Call, upstream: Upstream, session: Session, method: str, members: Mapping[str, Any], seconds: float
    ) -> tuple[bytes, bool]:
        """The bare result of a request other than a tool call, and whether it asked questions on the way."""
        told = _with_meta(call, session, members, None)
        known = carried_state.read(call.talk.carried) if call.talk.carried else None
        if isinstance(known, carried_state.Round):
            return await self.complete(call, session, method, told, known.wanted, seconds), True
        if isinstance(known, carried_state.ParkedCall):
            return _result(await self.go_on(call, known.id)), True
        if isinstance(known, carried_state.RepeatedCall):
            await consented(self._spec.name, call)
        result = _result(await self._ask(call, upstream, session, method, members, seconds))
        wanted = read_wanted(result) if session.peer.era is Era.STATELESS else None
        if wanted is None:
            return result, False
        return await self.complete(call, session, method, told, wanted, seconds), True

    async def _ask(
        self, call: Call, upstream: Upstream, session: Session, method: str, members: Mapping[str, Any], seconds: float
    ) -> Response | Failure:
        flight = Flight(call, method, seconds, seconds * HARD_LIMIT_FACTOR)
        token = self._following.begin(call.talk, flight) if relay.wants_progress(call.meta) else None
        upstream.flights[flight] = None
        outgoing = session.outgoing(method, _with_meta(call, session, members, token), self.told(call.caller))
        if may_park(call.caller, session):
            return await self.begin(call, upstream, session, outgoing, flight, token)
        try:
            return await session.link.request(outgoing, flight)
        except GIVEN_UP:
            upstream.abandoned.note(flight)
            raise
        finally:
            del upstream.flights[flight]
            flight.finish_questions(upstream.flights)
            if token is not None:
                self._following.end(token)


async def _ask_while_open(call: Call, opened: OpenCall, carry: bytes) -> Mapping[str, Mapping[str, Any]]:
    """The agent's answers; none if the server has answered without waiting for them."""
    asking = asyncio.ensure_future(call.talk.ask(dict(opened.questions), carry))
    try:
        await asyncio.wait((asking, opened.answer), return_when=asyncio.FIRST_COMPLETED)
        return asking.result() if asking.done() else {}
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


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

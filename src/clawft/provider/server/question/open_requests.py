"""Requests to handshake servers that stay open while their stateless agent finds answers to the server's questions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from clawft.link.base import OutgoingRequest
from clawft.model import Call, Caller, Era, InputRequired, SilentTalk
from clawft.provider.server.attempt import Attempt
from clawft.provider.server.question import carried_state
from clawft.provider.server.question.open_call import OpenCall
from clawft.provider.server.relayed_server import RelayedServer
from clawft.upstream.flights import Flight
from clawft.upstream.session.session import Session
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc.messages import Failure, Response


def may_park(agent: Caller, session: Session) -> bool:
    """Whether the server may send a question that this agent answers with a later request."""
    can = agent.capabilities
    able = can.elicit_form or can.sampling or can.roots or can.elicit_url
    return able and agent.era is Era.STATELESS and session.peer.era is Era.HANDSHAKE


class OpenRequests:
    """The open requests to one server."""

    def __init__(self, server: RelayedServer) -> None:
        self._server = server

    async def begin(
        self, attempt: Attempt, flight: Flight, outgoing: OutgoingRequest, token: int | None
    ) -> Response | Failure:
        """Make the request so that it outlives the agent's. Raises InputRequired if the server asks first."""
        request = attempt.session.link.request(outgoing, flight)
        del outgoing  # which may be large: the link lets go of it once it is sent
        opened = flight.opened = OpenCall(self._server.name, flight, request, token)
        opened.answer.add_done_callback(partial(self._landed, attempt.upstream, opened))
        return await self._follow(attempt.call, opened)

    def _landed(self, upstream: Upstream, opened: OpenCall, _: object) -> None:
        """The server has answered, or never will: clean up."""
        del upstream.flights[opened.flight]
        if opened.is_given_up:
            upstream.abandoned.note(opened.flight)
        if opened.token is not None:
            self._server.following.end(opened.token)
        successor = opened.flight.successor(upstream.flights)
        if successor is not None and isinstance(successor.opened, OpenCall):
            opened.hand_questions_to(successor.opened)
        opened.flight.opened = None  # or each would hold the other, and both a result that may be large

    async def go_on(self, call: Call, id: str) -> Response | Failure:
        """Continue when the agent has come back. Raises BadParams if there is no such call."""
        opened = self._server.parked_calls.take(id, self._server.name, call.caller)
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
            self._server.parked_calls.keep(opened, call.caller)
            raise
        except BaseException:
            opened.end("the call was cancelled")
            raise
        return opened.answer.result()

    def _tell_progress_to(self, opened: OpenCall, call: Call | None) -> None:
        if opened.token is not None and not opened.answer.done():
            self._server.following.hand_over(opened.token, SilentTalk() if call is None else call.talk)


async def _ask_while_open(call: Call, opened: OpenCall, carry: bytes) -> Mapping[str, Mapping[str, Any]]:
    """The agent's answers; none if the server has answered without waiting for them."""
    asking = asyncio.ensure_future(call.talk.ask(dict(opened.questions), carry))
    try:
        await asyncio.wait((asking, opened.answer), return_when=asyncio.FIRST_COMPLETED)
        return asking.result() if asking.done() else {}
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

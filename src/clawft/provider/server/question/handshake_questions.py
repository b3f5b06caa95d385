"""Passes questions that handshake servers send during a call to the agent of that call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from clawft.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, JsonRpcFailure, LinkClosed
from clawft.model import Caller, Question
from clawft.provider.server.question.questions import ROOTS, key_of, read_question, refuse_unless_able, without_hop
from clawft.upstream.flights import UNCLEAR, Flight, whose
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc.messages import Request

MAX_ASKED = 64
"""Questions one call may ask."""
TOLD_UNCLEAR = 5
"""Questions of one server that are logged as nobody's, as they may be anybody's."""

log = logging.getLogger("clawft.upstream")

Roots = Callable[[], list[Mapping[str, Any]]]
"""The folders of this gateway, for agents that have none."""


async def answer(upstream: Upstream, request: Request, stream: int | None, roots: Roots) -> Mapping[str, Any]:
    """The answer for the server. Raises JsonRpcFailure to refuse the question."""
    flight = whose(upstream.flights, stream, upstream.abandoned.people())
    agent = flight.call.caller if isinstance(flight, Flight) else _NOBODY
    question = read_question(upstream.spec, request.method, request.params, agent)
    if question.method == ROOTS and not agent.capabilities.roots:
        return {"roots": roots()}
    if isinstance(flight, Flight):
        flight.guessed = flight.guessed or stream is None
        return await _ask(flight, question)
    if flight == UNCLEAR:
        _tell_of_unclear(upstream)
        raise JsonRpcFailure(INTERNAL_ERROR, "several agents are calling, so it is not clear whose question this is")
    raise JsonRpcFailure(METHOD_NOT_FOUND, f"{request.method}: it belongs to no call")


_NOBODY = Caller()


def _tell_of_unclear(upstream: Upstream) -> None:
    """A few times: a server may ask without end, and how often it was refused is in its status."""
    upstream.unclear_questions += 1
    if upstream.unclear_questions <= TOLD_UNCLEAR:
        log.warning(
            "%s asks, but several agents call it at once, so it is not clear whose question this is "
            '(isolation = "per-session" gives each its own)',
            upstream.spec.name,
        )


async def _ask(flight: Flight, question: Question) -> Mapping[str, Any]:
    """Ask the agent; the call's deadline stands still meanwhile."""
    refuse_unless_able(flight.call.caller, question)
    flight.asked += 1
    if flight.asked > MAX_ASKED:
        raise JsonRpcFailure(INTERNAL_ERROR, f"a call may ask at most {MAX_ASKED} questions")
    flight.waiting += 1
    flight.hold()
    try:
        asking = _ask_now(flight, question) if flight.opened is None else flight.opened.ask(question)
        return without_hop(await asking)
    finally:
        flight.waiting -= 1
        flight.release()


async def _ask_now(flight: Flight, question: Question) -> Mapping[str, Any]:
    """Ask by a request to the agent. The question ends with its call, unless another call takes it over."""
    me = asyncio.current_task()
    key = key_of(question) or "question"
    while True:
        answering = flight.answering = flight.answering or set()
        answering.add(me)
        try:
            return (await flight.call.talk.ask({key: question}))[key]
        except LinkClosed:  # a task can be asked nothing more once its own call is over
            if flight.taken_over_by is None:
                raise
            flight = flight.taken_over_by
        finally:
            answering.discard(me)

"""Questions of stateless servers: a result that asks is answered by repeating the request with the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import UNSET

from clawft.errors import ExecutionFailed, JsonRpcFailure, ProtocolFailure
from clawft.model import Call, Era, Question
from clawft.provider.server.question import carried_state
from clawft.provider.server.question.questions import ROOTS, cannot, read_question, without_hop
from clawft.provider.server.relayed_server import RelayedServer
from clawft.upstream.session.peer import UnfinishedResult, read_wanted
from clawft.upstream.session.session import MAX_ROUNDS
from clawft.wire.answers import can_answer

MAX_AT_ONCE = 64
"""Questions in one result."""
FIRST_LOOK_SECONDS = 1.0
"""Time between a person's agreement to visit an address and the first check whether they are done; it doubles."""
LONGEST_LOOK_SECONDS = 30.0

Send = Callable[[Mapping[str, Any]], Awaitable[bytes]]
"""Repeats the request with these further members; returns the bare result."""
Answers = dict[str, Mapping[str, Any]]


class Rounds:
    """One request and its questions."""

    def __init__(self, server: RelayedServer, call: Call) -> None:
        self._server = server
        self._call = call
        self._agreed: dict[str, str] = {}
        """Addresses the person of a handshake agent agreed to visit, and their ids."""
        self._look = FIRST_LOOK_SECONDS

    async def complete(self, wanted: UnfinishedResult, send: Send) -> bytes:
        """Ask the agent and send its answers, as long as the server asks.

        Raises InputRequired for an agent that answers with a later request, and is called again with that.
        """
        for _ in range(MAX_ROUNDS):
            result = await send(await self.members(wanted, carried_state.encode(carried_state.Round(wanted))))
            more = read_wanted(result)
            if more is None:
                for id in self._agreed.values():
                    self._server.visited(id)
                return result
            wanted = more
        raise ProtocolFailure(f"the server still asks after {MAX_ROUNDS} rounds")

    async def members(self, wanted: UnfinishedResult, carry: bytes) -> dict[str, Any]:
        """The members of the next request: the answers, and the state the server wants back.

        `carry` is what the next run needs, for an agent that answers with a later request.
        """
        answers = await self._answers(self._questions(wanted), carry)
        state = {} if wanted.request_state is UNSET else {"requestState": wanted.request_state}
        return {**state, "inputResponses": answers} if answers else state

    def _questions(self, wanted: UnfinishedResult) -> dict[str, Question]:
        asked = wanted.input_requests
        if len(asked) > MAX_AT_ONCE:
            raise ProtocolFailure(f"the server asks {len(asked)} questions at once; {MAX_AT_ONCE} at most")
        agent = self._call.caller
        try:
            return {
                key: read_question(self._server.spec, each.method, bytes(each.params), agent, _new_visit())
                for key, each in asked.items()
            }
        except JsonRpcFailure as refused:
            raise ProtocolFailure(f"the server asks a question that is not allowed: {refused.message}") from None

    async def _answers(self, questions: Mapping[str, Question], carry: bytes) -> Answers:
        """The agent's answers, with our folders if it has none, and without asking again about agreed visits."""
        house = [key for key, question in questions.items() if self._is_ours(question)]
        going = [key for key, question in questions.items() if question.params.get("url") in self._agreed]
        theirs = {key: question for key, question in questions.items() if key not in (*house, *going)}
        answers: Answers = {key: {"roots": self._server.roots()} for key in house}
        answers |= {key: {"action": "accept"} for key in going}
        if theirs:
            answers |= await self._ask(theirs, carry)
        elif going:
            await asyncio.sleep(self._look)
            self._look = min(self._look * 2, LONGEST_LOOK_SECONDS)
        return answers

    async def _ask(self, questions: Mapping[str, Question], carry: bytes) -> Answers:
        for question in questions.values():
            if not can_answer(self._call.caller.capabilities, question):
                raise ExecutionFailed(f"{self._server.name} asks, but {cannot(question)}", hint=_by_hand(question))
        given = await self._call.talk.ask(questions, carry)
        answers: Answers = {key: without_hop(given[key]) for key in questions if key in given}
        if self._call.caller.era is Era.HANDSHAKE:
            self._agreed |= {
                str(questions[key].params["url"]): str(questions[key].params["elicitationId"])
                for key, answer in answers.items()
                if "elicitationId" in questions[key].params and answer.get("action") == "accept"
            }
        return answers

    def _is_ours(self, question: Question) -> bool:
        return question.method == ROOTS and not self._call.caller.capabilities.roots


def _new_visit() -> str:
    """A unique id: two calls may send a person to one address, and end at different times."""
    from secrets import token_urlsafe  # most servers never ask

    return token_urlsafe(12)


def _by_hand(question: Question) -> str:
    """The text that sends the person to an address. We never open it: the person decides."""
    url = question.params.get("url")
    return f"open {url} in a browser, then call again" if question.params.get("mode") == "url" else ""

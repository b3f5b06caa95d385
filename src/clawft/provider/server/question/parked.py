"""Calls that wait at a handshake server while their stateless agent goes away to find an answer.

The server's call stays open. The agent gets the question and a signed handle, and comes back with both in a new
request. Everything here has a bound: calls in all, calls of one caller, and the time one may wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Mapping
from typing import Any

from msgspec import Struct

from clawft.errors import INTERNAL_ERROR, BadParams, Busy, JsonRpcFailure
from clawft.model import Caller, Question
from clawft.provider.server.question.questions import key_of
from clawft.upstream.flights import Flight
from clawft.wire.asking import answers_it
from clawft.wire.jsonrpc import Failure, Response

PARKED_SECONDS = 600.0
MAX_PARKED = 1_000
MAX_PARKED_EACH = 128
"""Of one caller."""

log = logging.getLogger("clawft.upstream")

Waiter = asyncio.Future[Mapping[str, Any]]


class OpenCall:
    """One call at a server, and the questions it has open."""

    def __init__(
        self,
        server: str,
        flight: Flight,
        request: Coroutine[Any, Any, Response | Failure],
        token: int | None = None,
    ) -> None:
        """`token` is that of its progress."""
        from secrets import token_urlsafe  # only where a call waits for an answer

        self.id = token_urlsafe(18)
        self.server = server
        self.flight = flight
        self.token = token
        self.questions: dict[str, Question] = {}
        self.answer = asyncio.get_running_loop().create_task(request)
        self._waiting: dict[str, Waiter] = {}
        self._stirred = asyncio.Event()
        self._count = 0
        self.answer.add_done_callback(self._answered)

    def _answered(self, answer: asyncio.Task[Response | Failure]) -> None:
        if not answer.cancelled():
            answer.exception()  # seen: whoever comes back for it hears it, and perhaps nobody does
        self._stirred.set()

    async def ask(self, question: Question) -> Mapping[str, Any]:
        """For whoever answers the server: wait until the agent has come back with this answer."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._open(question, waiter)
        return await waiter

    def _open(self, question: Question, waiter: Waiter) -> None:
        self._count += 1
        told = key_of(question)
        key = told if told and told not in self.questions else f"question_{self._count}"
        self.questions[key] = question
        self._waiting[key] = waiter
        waiter.add_done_callback(lambda _: self._forget(key))
        self._stirred.set()

    def _forget(self, key: str) -> None:
        self.questions.pop(key, None)
        self._waiting.pop(key, None)

    def bequeath(self, heir: OpenCall) -> None:
        """What is still open may be a question of another call: that one goes on asking it."""
        for key, question in list(self.questions.items()):
            waiter = self._waiting[key]
            self._forget(key)
            heir.flight.inherit(waiter)
            heir._open(question, waiter)

    async def is_answered(self) -> bool:
        """True when the server has answered, False when it asks."""
        while not self.answer.done() and not self.questions:
            self._stirred.clear()
            await self._stirred.wait()
        return self.answer.done()

    def fill(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the server what answers its questions; whatever does not is as good as nothing."""
        for key, question in list(self.questions.items()):
            answer = answers.get(key)
            if answer is not None and answers_it(question, answer):
                self._waiting[key].set_result(answer)
                self._forget(key)

    def end(self, why: str) -> None:
        """The server hears that nobody will answer, and that its call is cancelled."""
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(JsonRpcFailure(INTERNAL_ERROR, why))
        self.answer.cancel()


class _Parked(Struct):
    call: OpenCall
    principal: str
    timer: asyncio.TimerHandle


class Park:
    """All calls that wait, of all servers."""

    def __init__(self, seconds: float = PARKED_SECONDS, limit: int = MAX_PARKED, each: int = MAX_PARKED_EACH) -> None:
        self._seconds = seconds
        self._limit = limit
        self._each = each
        self._parked: dict[str, _Parked] = {}
        self._of: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._parked)

    def keep(self, call: OpenCall, caller: Caller) -> None:
        """Until its caller comes back or its time is up. Raises Busy if too many wait."""
        if len(self._parked) >= self._limit or self._of[caller.principal] >= self._each:
            call.end("too many calls wait for an answer of their agent")
            raise Busy(
                f"busy: {len(self._parked)} calls wait for answers",
                hint="answer those first, or wait until they expire",
            )
        timer = asyncio.get_running_loop().call_later(self._seconds, self._expire, call.id)
        self._parked[call.id] = _Parked(call, caller.principal, timer)
        self._of[caller.principal] += 1

    def take(self, id: str, server: str, caller: Caller) -> OpenCall:
        """The call, once. Raises BadParams if it has ended, is another's, or is gone on with already."""
        parked = self._parked.get(id)
        if parked is None or parked.principal != caller.principal or parked.call.server != server:
            raise BadParams(
                "the call this requestState belongs to has expired, ended, or goes on already",
                hint="call again without it",
            )
        self._leave(parked)
        return parked.call

    def _leave(self, parked: _Parked) -> None:
        parked.timer.cancel()
        del self._parked[parked.call.id]
        self._of[parked.principal] -= 1
        if not self._of[parked.principal]:
            del self._of[parked.principal]

    def _expire(self, id: str) -> None:
        parked = self._parked[id]
        self._leave(parked)
        log.info("%s: nobody came back to answer within %g s", parked.call.server, self._seconds)
        parked.call.end(f"the agent did not answer within {self._seconds:g} s")

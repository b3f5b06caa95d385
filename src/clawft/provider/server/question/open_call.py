"""A call at a handshake server that outlives the request it was made with, and its open questions."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from clawft.errors import INTERNAL_ERROR, JsonRpcFailure, RequestTimeout
from clawft.model import Question
from clawft.provider.server.question.questions import key_of
from clawft.upstream.flights import Flight
from clawft.wire.answers import answers_it
from clawft.wire.jsonrpc.messages import Failure, Response

Waiter = asyncio.Future[Mapping[str, Any]]


class OpenCall:
    """One such call."""

    def __init__(
        self,
        server: str,
        flight: Flight,
        request: Coroutine[Any, Any, Response | Failure],
        token: int | None = None,
    ) -> None:
        """`token` is its progress token."""
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
        """Used by the handler of the server's question: wait until the agent has come back with the answer."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._open(question, waiter)
        return await waiter

    def _open(self, question: Question, waiter: Waiter) -> None:
        self._count += 1
        wanted = key_of(question)
        key = wanted if wanted and wanted not in self.questions else f"question_{self._count}"
        self.questions[key] = question
        self._waiting[key] = waiter
        waiter.add_done_callback(lambda _: self._forget(key))
        self._stirred.set()

    def _forget(self, key: str) -> None:
        self.questions.pop(key, None)
        self._waiting.pop(key, None)

    def hand_questions_to(self, successor: OpenCall) -> None:
        """Give open questions, which may be another call's, to that call, which goes on asking them."""
        for key, question in list(self.questions.items()):
            waiter = self._waiting[key]
            self._forget(key)
            successor.flight.take_over(waiter)
            successor._open(question, waiter)

    @property
    def is_given_up(self) -> bool:
        """Whether the server was told that its answer is not awaited any longer."""
        return self.answer.cancelled() or (self.answer.done() and isinstance(self.answer.exception(), RequestTimeout))

    async def is_answered(self) -> bool:
        """Wait for the server: True when it has answered, False when it asks."""
        while not self.answer.done() and not self.questions:
            self._stirred.clear()
            await self._stirred.wait()
        return self.answer.done()

    def fill(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Pass on the answers that fit open questions; others are ignored."""
        for key, question in list(self.questions.items()):
            answer = answers.get(key)
            if answer is not None and answers_it(question, answer):
                self._waiting[key].set_result(answer)
                self._forget(key)

    def end(self, why: str) -> None:
        """Refuse the open questions and cancel the call at the server."""
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(JsonRpcFailure(INTERNAL_ERROR, why))
        self.answer.cancel()

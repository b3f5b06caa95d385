"""The questions of a server while it is connected: each answered beside the others, a flood refused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from clawft.errors import INTERNAL_ERROR, INVALID_PARAMS, MAX_TOLD, Busy, ClawftError, JsonRpcFailure
from clawft.link.base import Link
from clawft.link.share.byte_limits import COUNTED_BYTES, QUESTIONS, Reservation
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.messages import Notification, Request
from clawft.wire.readable import why_unreadable

MAX_QUESTIONS = 256
"""Of the server's, being answered at a time; more are a flood and refused."""

log = logging.getLogger("clawft.upstream")

Answering = Callable[[Request, int | None], Awaitable[bytes]]
"""The bare result for a question that came on a stream; raises ClawftError to refuse it."""


class Questions:
    def __init__(self, link: Link, answering: Answering) -> None:
        self._link = link
        self._answering = answering
        self._open: dict[bytes, asyncio.Task[None]] = {}
        self.refused = 0
        """Questions of this server that we would not answer, so far."""

    def take(self, request: Request, stream: int | None) -> None:
        if request.id in self._open:
            return  # the one that came first is being answered under this id
        load = self._load(len(request.params))
        work = self._answer(request, stream) if load is not None else self._refuse_flood(request.id)
        id = request.id  # of the message no more is kept than that
        task = self._open[id] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda task: self._answered(id, load, task))

    def withdraw(self, cancelled: Notification) -> bool:
        """The server no longer wants to know: whoever was asked is told, and nothing is answered."""
        from clawft.wire.cancel import read_cancelled  # loaded with the first

        id = read_cancelled(cancelled.params)
        task = self._open.get(id) if id is not None else None
        if task is not None:
            task.cancel()
        return task is not None

    async def close(self) -> None:
        """Nobody waits for an answer any more."""
        tasks = tuple(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _load(self, size: int) -> Reservation | None:
        """A question of this size; None if that is too much, of this server's or of all."""
        if len(self._open) >= MAX_QUESTIONS:
            return None
        try:
            return Reservation(QUESTIONS, size if size > COUNTED_BYTES else 0, str(id(self)))
        except Busy:
            return None

    def _answered(self, id: bytes, load: Reservation | None, task: asyncio.Task[None]) -> None:
        del self._open[id]
        if load is not None:
            load.release()
        if not task.cancelled() and task.exception() is not None:
            log.error("a question of the server's was not answered", exc_info=task.exception())

    async def _answer(self, request: Request, stream: int | None) -> None:
        try:
            _must_be_readable(request)
            answer = writing.result(request.id, await self._answering(request, stream))
        except JsonRpcFailure as refused:
            answer = self._refusal(request.id, refused.error_code, refused.message)
        except ClawftError as failed:
            answer = self._refusal(request.id, failed.code, str(failed))
        await self._link.answer(answer)

    async def _refuse_flood(self, id: bytes) -> None:
        await self._link.answer(self._refusal(id, INTERNAL_ERROR, _too_many()))

    def _refusal(self, id: bytes, code: int, why: str) -> bytes:
        self.refused += 1
        return writing.failure(id, code, why)


def _must_be_readable(question: Request) -> None:
    """By the client of whoever is asked. Raises JsonRpcFailure."""
    if why := why_unreadable(question.params):
        raise JsonRpcFailure(INVALID_PARAMS, f"{question.method[:MAX_TOLD]} cannot be passed on: {why}")


def _too_many() -> str:
    most = f"{MAX_QUESTIONS} questions of one server, or {QUESTIONS.limit // 2} bytes of them"
    return f"busy: {most}, may wait for an answer"

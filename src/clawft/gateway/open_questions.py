"""Questions of ours to one caller of the handshake era: each is a request to it, which it may answer late or never."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from clawft.errors import ExecutionFailed, LinkClosed, RequestTimeout, UrlElicitationRequired, WireError
from clawft.gateway.talk import Outlet
from clawft.model import Question
from clawft.wire import forms, narrow
from clawft.wire.correlate import OpenAnswers
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.likely import likely_answer
from clawft.wire.jsonrpc.messages import Failure, Response
from clawft.wire.revisions import Revision
from clawft.wire.visible import make_visible

MAX_VISITS = 256

_encode = msgspec.json.encode
_answer = msgspec.json.Decoder(dict[str, Any])


class OpenQuestions:
    """The unanswered questions, and the addresses where the person was sent. `session_outlet` belongs to no request."""

    def __init__(self, session_outlet: Outlet, seconds: float) -> None:
        self._session_outlet = session_outlet
        self._seconds = seconds
        self._asked: OpenAnswers[Response | Failure] = OpenAnswers()
        self._visits: dict[str, None] = {}
        """Addresses the person was sent to, by their id; the last of them."""

    async def ask(self, outlet: Outlet, question: Question, revision: Revision) -> Mapping[str, Any]:
        """One request to the caller, on the stream of the call it belongs to, for as long as that is read."""
        outlet = self._session_outlet if outlet.over else outlet
        self._sent_to(question.params.get("elicitationId"))
        answer = await self._answered(outlet, question.method, _fit(question, revision))
        if isinstance(answer, Failure):
            raise ExecutionFailed(f"the client could not answer {question.method}: {answer.read().message}")
        try:
            return _refit(question, _answer.decode(answer.result), revision)
        except msgspec.DecodeError:
            raise ExecutionFailed(f"the client's answer to {question.method} is not an object") from None

    async def _answered(self, outlet: Outlet, method: str, params: Mapping[str, Any]) -> Response | Failure:
        """As it came. Whoever waits for it no longer says so."""
        waiter: asyncio.Future[Response | Failure] = asyncio.get_running_loop().create_future()
        id = self._asked.open(waiter)
        outlet.send(writing.request(id, method, make_visible(_encode(params))))
        try:
            async with asyncio.timeout(self._seconds):
                return await waiter
        except TimeoutError:
            outlet.send(_cancelled(id))
            raise RequestTimeout(method, int(self._seconds * 1000)) from None
        except asyncio.CancelledError:
            outlet.send(_cancelled(id))
            raise
        finally:
            self._asked.close(id)

    def fill(self, answer: Response | Failure) -> None:
        """One that nobody waits for is dropped."""
        self._asked.fill(answer.id, answer)

    def fail(self, answer: bytes, wrong: WireError) -> bool:
        """One that cannot be read, and which no better one will follow. False if it was meant as something else."""
        id = likely_answer(answer)
        return bool(id) and self._asked.fail(id, ExecutionFailed(f"the client's answer is not a message: {wrong}"))

    def remember(self, asked: UrlElicitationRequired) -> None:
        """The caller is told to send the person somewhere by an error, instead of a question."""
        for visit in asked.elicitations:
            self._sent_to(visit.get("elicitationId"))

    def was_sent(self, id: str) -> bool:
        """Whether this caller sent the person there. Asked once, when they are done there."""
        known = id in self._visits
        self._visits.pop(id, None)
        return known

    def _sent_to(self, visit: object) -> None:
        if isinstance(visit, str):
            self._visits[visit] = None
            if len(self._visits) > MAX_VISITS:
                del self._visits[next(iter(self._visits))]

    def close(self) -> None:
        self._asked.fail_all(LinkClosed("the caller has disconnected"))


def _cancelled(id: int) -> bytes:
    return writing.notification("notifications/cancelled", b'{"requestId":%d}' % id)


def _fit(question: Question, revision: Revision) -> Mapping[str, Any]:
    """Revisions before URL elicitation know no `mode`, and one kind of choice; others fewer blocks for models."""
    if question.method == "sampling/createMessage":
        return narrow.sampling(question.params, revision)
    if revision.url_elicitation:
        return question.params
    params = {key: value for key, value in question.params.items() if key != "mode"}
    form = params.get("requestedSchema")
    return params if form is None else {**params, "requestedSchema": forms.older_form(form)}


def _refit(question: Question, answer: Mapping[str, Any], revision: Revision) -> Mapping[str, Any]:
    form, content = question.params.get("requestedSchema"), answer.get("content")
    if form is None or not isinstance(content, dict) or revision.url_elicitation:
        return answer
    return {**answer, "content": forms.newer_content(form, cast("dict[str, Any]", content))}

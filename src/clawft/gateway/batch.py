"""JSON-RPC batches: part of 2025-03-26 only, and never sent by us first."""

from __future__ import annotations

from collections.abc import Callable

from clawft.errors import BadEnvelope, ParseError
from clawft.gateway.conversation import Conversation
from clawft.gateway.talk import Outlet
from clawft.wire import jsonrpc
from clawft.wire.jsonrpc import Notification, Request

MAX_BATCH = 100


class Batch:
    """The members of one batch, and their answers once all are there."""

    def __init__(self, outlet: Outlet, conversation: Conversation, deliver: Callable[[bytes], None]) -> None:
        self._outlet = outlet
        self._conversation = conversation
        self._deliver = deliver
        self._expected = 0
        self._answers: list[bytes] = []

    def take(self, members: list[bytes]) -> int:
        """How many answers there will be; they are delivered together."""
        requests: list[Request] = []
        for member in members:
            try:
                message = jsonrpc.decode(member)
            except (ParseError, BadEnvelope) as wrong:
                self._answers.append(jsonrpc.failure_of(getattr(wrong, "id", None), wrong))
                continue
            if isinstance(message, Request):
                requests.append(message)
            elif isinstance(message, Notification):
                self._conversation.notice(message)
            else:
                self._conversation.fill(message)
        self._expected = expected = len(self._answers) + len(requests)
        for request in requests:
            self._start(request)
        self._finish_when_whole()
        return expected

    def _start(self, request: Request) -> None:
        if request.method == "initialize":
            self._collect(jsonrpc.failure_of(request.id, BadEnvelope("initialize cannot be part of a batch")))
            return
        work = self._conversation.answer(request, self._outlet)
        self._conversation.running.start(request.id, work, self._collect)

    def _collect(self, answer: bytes) -> None:
        self._answers.append(answer)
        self._finish_when_whole()

    def _finish_when_whole(self) -> None:
        if self._expected and len(self._answers) == self._expected:
            self._expected = 0
            self._deliver(b"[" + b",".join(self._answers) + b"]")

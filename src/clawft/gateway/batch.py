"""JSON-RPC batches: part of 2025-03-26 only, and never sent by us first."""

from __future__ import annotations

from collections.abc import Callable

from clawft.errors import BadEnvelope, BadNotification, ParseError
from clawft.gateway.conversation import Conversation
from clawft.gateway.talk import Outlet
from clawft.wire import handshake
from clawft.wire.jsonrpc import reading, writing
from clawft.wire.jsonrpc.messages import Message, Notification, Request


class Batch:
    """The members of one batch, and their answers once all are there."""

    def __init__(self, outlet: Outlet, conversation: Conversation, deliver: Callable[[bytes], None]) -> None:
        self._outlet = outlet
        self._conversation = conversation
        self._deliver = deliver
        self._open = 0
        self._answers: list[bytes] = []

    def take(self, members: list[bytes]) -> int:
        """The number of requests. Their answers are delivered together; nothing if all were cancelled."""
        messages = [message for member in members if (message := self._read(member)) is not None]
        requests = self._open = sum(isinstance(message, Request) for message in messages)
        expected = len(self._answers) + requests
        for message in messages:  # in their order: one may cancel what another began
            if isinstance(message, Request):
                self._start(message)
            elif isinstance(message, Notification):
                self._conversation.on_notification(message)
            else:
                self._conversation.on_answer(message)
        if expected and not requests:
            self._finish()
        return expected

    def _read(self, member: bytes) -> Message | None:
        try:
            return reading.decode(member)
        except BadNotification:
            pass
        except (ParseError, BadEnvelope) as wrong:
            self._answers.append(writing.failure_of(wrong.id, wrong))
        return None

    def _start(self, request: Request) -> None:
        if request.method == "initialize":
            self._one_ended(writing.failure_of(request.id, BadEnvelope("initialize cannot be part of a batch")))
            return
        work = self._conversation.answer(request, self._outlet)
        self._conversation.running.start(request.id, work, handshake.error_code, self._one_ended)

    def _one_ended(self, answer: bytes) -> None:
        """Answered, or cancelled and so without an answer."""
        if answer:
            self._answers.append(answer)
        self._open -= 1
        if not self._open:
            self._finish()

    def _finish(self) -> None:
        self._deliver(b"[" + b",".join(self._answers) + b"]" if self._answers else b"")

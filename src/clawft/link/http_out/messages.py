"""Turns responses over Streamable HTTP into messages: the answer to a request, or notifications and
requests before it.
"""

from __future__ import annotations

from io import SEEK_END, BytesIO

from clawft.errors import LinkClosed, WireError
from clawft.link.base import Incoming
from clawft.link.http_out.answer import answers, may_answer, no_message
from clawft.link.http_out.receive_state import ReceiveState
from clawft.wire.inplace import INPLACE_BYTES
from clawft.wire.jsonrpc import reading
from clawft.wire.jsonrpc.batches import is_batch, unpack
from clawft.wire.jsonrpc.messages import Failure, Message, Notification, Request, Response
from clawft.wire.jsonrpc.salvage import read_salvaged
from clawft.wire.sse import SseEvent


class Messages:
    def __init__(self, url: str, received: ReceiveState, incoming: Incoming) -> None:
        """`url`: as it may be shown; `incoming` takes what is no answer."""
        self._url = url
        self._received = received
        self._incoming = incoming

    def let_go(self) -> None:
        """Of who takes them: the link is closed."""
        self._incoming = _unheard

    def answer(self, id: int, body: bytes, *, refused: bool = False) -> Response | Failure:
        """A whole body, which has to be the answer to this request. `refused`: its status says that it is an error, and
        then it is about this request whatever it calls it. A server that did not read our id may make up one.
        """
        room = BytesIO(body)
        del body  # which may be large, see `inplace`
        answer = self._decode(id, room)
        if isinstance(answer, Failure) and refused:
            return answer
        if isinstance(answer, Response | Failure) and answers(answer, id):
            return answer
        self._received.unasked += isinstance(answer, Response | Failure)
        raise LinkClosed(f"{self._url} sent a response to another request")

    def answer_in(self, event: SseEvent, id: int | None) -> Response | Failure | None:
        """The answer to this request, if that is what an event of a stream carries; everything else is passed on."""
        message = self._message(event, id)
        if isinstance(message, Request | Notification):
            self._incoming(message, id)
        elif message is not None and answers(message, id):
            return message
        elif message is not None:
            self._received.unasked += 1
        return None

    def _decode(self, id: int, body: BytesIO) -> Message:
        try:
            if self._received.batches and is_batch(body.getvalue()):
                body = BytesIO(self._answer_among(id, body.getvalue()))
            size = body.seek(0, SEEK_END)
            if not size:
                raise LinkClosed(f"{self._url} accepted the request but sent no response")
            return reading.decode(body.getvalue()) if size < INPLACE_BYTES else reading.decode_large(body)
        except WireError as wrong:
            if self._received.pending_lists and (found := read_salvaged(body.getvalue())):
                return found
            self._received.bad_events += 1
            raise no_message(self._url, body.getvalue(), wrong) from None

    def _message(self, event: SseEvent, id: int | None) -> Message | None:
        if not event.data or event.event != "message":
            return None
        data = event.data.encode()
        try:
            if self._received.batches and is_batch(data):
                answer = self._answer_among(id, data)
                return reading.decode(answer) if answer else None
            return reading.decode(data)
        except WireError as wrong:
            if self._received.pending_lists and id is not None and (found := read_salvaged(data)):
                return found
            self._received.note_bad_event(wrong)
            if may_answer(data, id):
                raise LinkClosed(f"{self._url} sent an answer that is not a message: {wrong}") from None
            return None

    def _answer_among(self, id: int | None, body: bytes) -> bytes:
        """Of messages that came together the first that answers this request, after the others were received."""
        answer = b""
        for member in unpack(body):
            message = self._member(id, member)
            if isinstance(message, Request | Notification):
                self._incoming(message, id)
            elif message is not None and (answer or not answers(message, id)):
                self._received.unasked += 1
            elif message is not None:
                answer = member
        return answer

    def _member(self, id: int | None, member: bytes) -> Message | None:
        """One that cannot be read costs none of the others, unless it is the answer that is waited for."""
        try:
            return reading.decode(member)
        except WireError as wrong:
            if may_answer(member, id):
                raise
            self._received.note_bad_event(wrong)
            return None


def _unheard(message: Request | Notification, stream: int | None) -> None:
    pass

"""HTTP of the handshake era: sessions, their streams, resumption. Leaving is not cancelling here."""

from __future__ import annotations

import asyncio

from clawft.errors import BadEnvelope, BadParams, Busy, ParseError
from clawft.gateway.batch import MAX_BATCH, Batch
from clawft.gateway.core import Gateway
from clawft.gateway.http_answer import HttpAnswer
from clawft.gateway.sessions import Session, Sessions
from clawft.gateway.streams import EventStream, read_event_id
from clawft.link import asgi
from clawft.link.asgi import JSON, TEXT, Receive, Send, Watch
from clawft.model import Caller
from clawft.wire import jsonrpc
from clawft.wire.headers import Headers
from clawft.wire.jsonrpc import Message, Notification, Request
from clawft.wire.revisions import REVISIONS

SESSION = b"mcp-session-id"
LAST_EVENT = b"last-event-id"


class SessionDoor:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._closing = False
        self.sessions = Sessions(gateway)

    # ── POST ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def post(
        self,
        message: Message | None,
        body: bytes,
        headers: list[tuple[bytes, bytes]],
        caller: Caller,
        receive: Receive,
        send: Send,
    ) -> None:
        if isinstance(message, Request) and message.method == "initialize":
            await self._initialize(message, caller, send)
            return
        session = await self._session(dict(headers), caller, send)
        if session is None:
            return
        if message is None:
            await self._batch(session, body, receive, send)
        elif isinstance(message, Request):
            await self._request(session, message, receive, send)
        else:
            if isinstance(message, Notification):
                session.conversation.notice(message)
            else:
                session.conversation.fill(message)
            await asgi.answer(send, 202)

    async def _initialize(self, request: Request, caller: Caller, send: Send) -> None:
        try:
            session = self._open(caller)
        except Busy as busy:
            await asgi.answer(send, busy.status, jsonrpc.failure_of(request.id, busy), [JSON])
            return
        answer = session.conversation.answer_now(request) or b""
        if not session.conversation.opened:
            self.sessions.end(session)
            await asgi.answer(send, 200, answer, [JSON])
            return
        await asgi.answer(send, 200, answer, [JSON, (SESSION, session.id.encode())])

    def _open(self, caller: Caller) -> Session:
        if self._closing:
            raise Busy("shutting down", hint="connect again")
        return self.sessions.open(caller)

    async def _request(self, session: Session, request: Request, receive: Receive, send: Send) -> None:
        conversation = session.conversation
        answer = conversation.answer_now(request)
        if answer is not None:
            await asgi.answer(send, 200, answer, [JSON])
            return
        stream = session.new_stream(primed=REVISIONS[conversation.caller.revision].polling)
        back = HttpAnswer(stream, receive, send)
        await back.serve(conversation.running, request.id, conversation.answer(request, stream))
        if not stream.opened:
            session.drop(stream)

    async def _batch(self, session: Session, body: bytes, receive: Receive, send: Send) -> None:
        """2025-03-26 only: all answers together, as JSON."""
        if not REVISIONS[session.conversation.caller.revision].batches:
            await _refuse(send, BadEnvelope("batches are not part of this protocol revision"))
            return
        try:
            members = jsonrpc.decode_batch(body)
        except ParseError as wrong:
            await _refuse(send, wrong)
            return
        if not 0 < len(members) <= MAX_BATCH:
            await _refuse(send, BadEnvelope(f"a batch has 1 to {MAX_BATCH} messages"))
            return
        answers: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        expected = Batch(session.aside, session.conversation, answers.set_result).take(members)
        together = await answers if expected else b""
        await (asgi.answer(send, 200, together, [JSON]) if together else asgi.answer(send, 202))

    # ── GET and DELETE ───────────────────────────────────────────────────────────────────────────────────────────────

    async def stream_or_end(self, method: str, headers: Headers, caller: Caller, receive: Receive, send: Send) -> None:
        session = await self._session(headers, caller, send)
        if session is None:
            return
        if method == "DELETE":
            self.sessions.end(session)
            await asgi.answer(send, 204)
        elif b"text/event-stream" not in headers.get(b"accept", b"") and b"*/*" not in headers.get(b"accept", b""):
            await asgi.answer(send, 406, b"accept text/event-stream", [TEXT])
        else:
            await self._stream(session, headers, receive, send)

    async def _stream(self, session: Session, headers: Headers, receive: Receive, send: Send) -> None:
        stream = session.aside
        if LAST_EVENT in headers:
            try:
                name, after = read_event_id(headers[LAST_EVENT])
            except BadParams as wrong:
                await _refuse(send, wrong)
                return
            found = session.stream(name)
            if found is None:
                await asgi.answer(send, 404, b"this stream is no longer kept", [TEXT])
                return
            stream = found
            stream.resume(after)
        elif stream.busy:
            await asgi.answer(send, 409, b"this session's stream is already open", [TEXT])
            return
        await _pump(stream, receive, send)

    async def _session(self, headers: Headers, caller: Caller, send: Send) -> Session | None:
        """The session these headers name; None after an answer that says why not."""
        id = headers.get(SESSION)
        if id is None:
            error = BadEnvelope("the header Mcp-Session-Id is missing", hint="send initialize first")
            await _refuse(send, error)
            return None
        session = self.sessions.find(id.decode("latin-1"), caller.principal)
        if session is None:
            await asgi.answer(send, 404, jsonrpc.failure(None, BadEnvelope.code, "unknown session"), [JSON])
        return session

    async def drain(self, grace: float) -> None:
        self._closing = True
        await asyncio.gather(*(session.conversation.running.drain(grace) for session in self.sessions))
        self.sessions.close()


async def _pump(stream: EventStream, receive: Receive, send: Send) -> None:
    """Send what the stream has until it ends or its reader leaves; the stream itself lives on."""
    watch = Watch(receive, stream.detach)
    try:
        await asgi.stream(send, stream.read())
    finally:
        watch.stop()


async def _refuse(send: Send, error: BadEnvelope | ParseError | BadParams) -> None:
    await asgi.answer(send, 400, jsonrpc.failure_of(None, error), [JSON])

"""The handshake era over HTTP: sessions, their streams, resumption. Disconnecting does not cancel here."""

from __future__ import annotations

import asyncio
from functools import partial

from clawft.errors import BadEnvelope, BadParams, Busy, WireError
from clawft.gateway.batch import Batch
from clawft.gateway.core import Gateway
from clawft.gateway.events import GatewayEvent, RightsChanged
from clawft.gateway.http.accept import takes
from clawft.gateway.http.answer import HttpAnswer
from clawft.gateway.http.authorized_request import AuthorizedRequest
from clawft.gateway.http.sessions import Session, Sessions
from clawft.gateway.http.streams import EventStream, read_event_id
from clawft.link import asgi
from clawft.link.asgi import JSON, TEXT, Send
from clawft.model import LOCAL, Caller
from clawft.wire import handshake
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.messages import NULL, Message, Notification, Request
from clawft.wire.revisions import REVISIONS

SESSION = b"mcp-session-id"
LAST_EVENT = b"last-event-id"


class SessionEndpoint:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._closing = False
        self.sessions = Sessions(gateway)
        gateway.events.subscribe(self._tell)

    def _tell(self, event: GatewayEvent) -> None:
        """When rights change, the streams of people end, and they open new ones. Running calls are still answered."""
        if isinstance(event, RightsChanged):
            for session in self.sessions:
                if session.conversation.caller.principal != LOCAL:
                    session.own_stream.enter()  # a new reader ends the stream of the one before

    # ── POST ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def post(self, http: AuthorizedRequest, message: Message) -> None:
        if isinstance(message, Request) and message.method == "initialize":
            await self._initialize(message, http.caller, http.send)
            return
        session = await self._session(http)
        if session is None:
            return
        if isinstance(message, Request):
            answered = self._request(session, message, http)
            del message  # which may be large
            await answered
        else:
            if isinstance(message, Notification):
                session.conversation.on_notification(message)
            else:
                session.conversation.on_answer(message)
            await asgi.answer(http.send, 202)

    def knows_batches(self, http: AuthorizedRequest) -> bool:
        """Whether the session has them; true if there is none, which is said first."""
        session = self._named(http)
        return session is None or REVISIONS[session.conversation.caller.revision].batches

    async def post_batch(self, http: AuthorizedRequest, members: list[bytes]) -> None:
        session = await self._session(http)
        if session is not None:
            await self._batch(session, members, http)

    async def _initialize(self, request: Request, caller: Caller, send: Send) -> None:
        try:
            session = self._open(caller)
        except Busy as busy:
            await asgi.answer(send, busy.status, writing.failure_of(request.id, busy), [JSON])
            return
        answer = session.conversation.answer_now(request) or b""
        if not session.conversation.is_initialized:
            self.sessions.end(session)
            await asgi.answer(send, 200, answer, [JSON])
            return
        await asgi.answer(send, 200, answer, [JSON, (SESSION, session.id.encode())])

    def _open(self, caller: Caller) -> Session:
        if self._closing:
            raise Busy("shutting down", hint="connect again")
        return self.sessions.open(caller)

    async def _request(self, session: Session, request: Request, http: AuthorizedRequest) -> None:
        conversation = session.conversation
        answer = conversation.answer_now(request)
        if answer is not None:
            await asgi.answer(http.send, 200, answer, [JSON])
            return
        back = HttpAnswer(http, conversation.running, request.id, session.new_stream)
        id, work = request.id, conversation.answer(request, back)
        del request  # which may be large
        await back.serve(id, work, handshake.error_code)
        self.sessions.touch(session)  # a call may take longer than a session may be idle

    async def _batch(self, session: Session, members: list[bytes], http: AuthorizedRequest) -> None:
        """2025-03-26 only: all answers of a batch together."""
        conversation = session.conversation
        answers: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        back = HttpAnswer(http, conversation.running, NULL, session.new_stream)
        if not Batch(back, conversation, answers.set_result).take(members):
            answers.set_result(b"")
        await back.serve_together(answers)
        self.sessions.touch(session)

    # ── GET and DELETE ───────────────────────────────────────────────────────────────────────────────────────────────

    async def stream_or_end(self, http: AuthorizedRequest) -> None:
        session = await self._session(http)
        if session is None:
            return
        if http.method == "DELETE":
            self.sessions.end(session)
            await asgi.answer(http.send, 204)
        elif not takes(http.headers.get(b"accept", b""), b"text/event-stream"):
            await asgi.answer(http.send, 406, b"accept text/event-stream", [TEXT])
        elif LAST_EVENT in http.headers:
            await self._resume(session, http)
        elif session.own_stream.busy:
            await asgi.answer(http.send, 409, b"this session's stream is already open", [TEXT])
        else:
            await _pump(session.own_stream, session.own_stream.enter(), http)

    async def _resume(self, session: Session, http: AuthorizedRequest) -> None:
        """Continue a stream behind the event that the client has seen last."""
        try:
            name, after = read_event_id(http.headers[LAST_EVENT])
        except BadParams as wrong:
            await _refuse(http.send, wrong)
            return
        stream = session.stream(name)
        if stream is None:
            await _refuse(http.send, BadParams("this stream is no longer kept"))  # 404 would mean: open a new session
            return
        if stream.is_told(after):  # some clients take an error for no answer, and an empty stream for a lost one
            await asgi.answer(http.send, 405, b"this stream has ended", [TEXT, (b"allow", b"POST, DELETE")])
            return
        await _pump(stream, stream.resume(after), http)

    def name_of(self, http: AuthorizedRequest) -> str:
        """The session this http belongs to, if it is one of ours and theirs."""
        session = self._named(http)
        return session.id if session is not None else ""

    def without_our_id(self, http: AuthorizedRequest, message: bytes, wrong: WireError) -> WireError:
        """The error for its sender: without the id if the message was an unreadable answer to a question of ours."""
        session = self._named(http)
        if session is not None and session.conversation.on_unreadable(message, wrong):
            wrong.id = None
        return wrong

    def _named(self, http: AuthorizedRequest) -> Session | None:
        id = http.headers.get(SESSION)
        return self.sessions.find(id.decode("latin-1"), http.caller) if id is not None else None

    async def _session(self, http: AuthorizedRequest) -> Session | None:
        """The session this http names; None after an answer that says why not."""
        if SESSION not in http.headers:
            error = BadEnvelope("the header Mcp-Session-Id is missing", hint="send initialize first")
            await _refuse(http.send, error)
            return None
        session = self._named(http)
        if session is None:
            error = BadEnvelope(
                "this session is not known here, or has ended", hint="send initialize again, without it"
            )
            await asgi.answer(http.send, 404, writing.failure_of(None, error), [JSON])
        return session

    async def drain(self, grace: float) -> None:
        self._closing = True
        await asyncio.gather(*(session.conversation.running.drain(grace) for session in self.sessions))
        self.sessions.close()


async def _pump(stream: EventStream, reader: int, http: AuthorizedRequest) -> None:
    """Send what the stream has until it ends, its reader disconnects or their token expires."""
    stop_watching = http.on_disconnect(partial(stream.leave, reader))
    http.listen()
    try:
        await asgi.stream(http.send, stream.read(reader, http.caller.until))
    finally:
        stop_watching()


async def _refuse(send: Send, error: WireError | BadParams) -> None:
    await asgi.answer(send, 400, writing.failure_of(None, error), [JSON])

"""HTTP of the handshake era: sessions, their streams, resumption. Leaving is not cancelling here."""

from __future__ import annotations

import asyncio
from functools import partial

from clawft.errors import BadEnvelope, BadParams, Busy, WireError
from clawft.gateway.batch import Batch
from clawft.gateway.core import Gateway
from clawft.gateway.events import GatewayEvent, RightsChanged
from clawft.gateway.http.accept import takes
from clawft.gateway.http.answer import HttpAnswer
from clawft.gateway.http.sessions import Session, Sessions
from clawft.gateway.http.streams import EventStream, read_event_id
from clawft.gateway.http.visit import Visit
from clawft.link import asgi
from clawft.link.asgi import JSON, TEXT, Send
from clawft.model import LOCAL, Caller
from clawft.wire import handshake
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.messages import NULL, Message, Notification, Request
from clawft.wire.revisions import REVISIONS

SESSION = b"mcp-session-id"
LAST_EVENT = b"last-event-id"


class SessionDoor:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._closing = False
        self.sessions = Sessions(gateway)
        gateway.events.subscribe(self._tell)

    def _tell(self, event: GatewayEvent) -> None:
        """The streams of people end with the rules they were opened under; calls that were let in are answered."""
        if isinstance(event, RightsChanged):
            for session in self.sessions:
                if session.conversation.caller.principal != LOCAL:
                    session.aside.enter()  # which is the end for whoever reads

    # ── POST ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def post(self, visit: Visit, message: Message) -> None:
        if isinstance(message, Request) and message.method == "initialize":
            await self._initialize(message, visit.caller, visit.send)
            return
        session = await self._session(visit)
        if session is None:
            return
        if isinstance(message, Request):
            answered = self._request(session, message, visit)
            del message  # which may be large
            await answered
        else:
            if isinstance(message, Notification):
                session.conversation.notice(message)
            else:
                session.conversation.fill(message)
            await asgi.answer(visit.send, 202)

    async def post_batch(self, visit: Visit, members: list[bytes]) -> None:
        session = await self._session(visit)
        if session is not None:
            await self._batch(session, members, visit)

    async def _initialize(self, request: Request, caller: Caller, send: Send) -> None:
        try:
            session = self._open(caller)
        except Busy as busy:
            await asgi.answer(send, busy.status, writing.failure_of(request.id, busy), [JSON])
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

    async def _request(self, session: Session, request: Request, visit: Visit) -> None:
        conversation = session.conversation
        answer = conversation.answer_now(request)
        if answer is not None:
            await asgi.answer(visit.send, 200, answer, [JSON])
            return
        back = HttpAnswer(visit, conversation.running, request.id, session.new_stream)
        id, work = request.id, conversation.answer(request, back)
        del request  # which may be large
        await back.serve(id, work, handshake.error_code)
        self.sessions.touch(session)  # a call may take longer than a session may be idle

    async def _batch(self, session: Session, members: list[bytes], visit: Visit) -> None:
        """2025-03-26 only: all answers together, after what is said before them."""
        conversation = session.conversation
        if not REVISIONS[conversation.caller.revision].batches:
            await _refuse(visit.send, BadEnvelope("batches are not part of this protocol revision"))
            return
        answers: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        back = HttpAnswer(visit, conversation.running, NULL, session.new_stream)
        if not Batch(back, conversation, answers.set_result).take(members):
            answers.set_result(b"")
        await back.serve_together(answers)
        self.sessions.touch(session)

    # ── GET and DELETE ───────────────────────────────────────────────────────────────────────────────────────────────

    async def stream_or_end(self, visit: Visit) -> None:
        session = await self._session(visit)
        if session is None:
            return
        if visit.method == "DELETE":
            self.sessions.end(session)
            await asgi.answer(visit.send, 204)
        elif not takes(visit.headers.get(b"accept", b""), b"text/event-stream"):
            await asgi.answer(visit.send, 406, b"accept text/event-stream", [TEXT])
        elif LAST_EVENT in visit.headers:
            await self._resume(session, visit)
        elif session.aside.busy:
            await asgi.answer(visit.send, 409, b"this session's stream is already open", [TEXT])
        else:
            await _pump(session.aside, session.aside.enter(), visit)

    async def _resume(self, session: Session, visit: Visit) -> None:
        """A reader comes back to the stream it knows, and hears what it has missed."""
        try:
            name, after = read_event_id(visit.headers[LAST_EVENT])
        except BadParams as wrong:
            await _refuse(visit.send, wrong)
            return
        stream = session.stream(name)
        if stream is None:
            await _refuse(visit.send, BadParams("this stream is no longer kept"))  # 404 would mean: open a new session
            return
        if stream.is_told(after):  # some clients take an error for no answer, and an empty stream for a lost one
            await asgi.answer(visit.send, 405, b"this stream has ended", [TEXT, (b"allow", b"POST, DELETE")])
            return
        await _pump(stream, stream.resume(after), visit)

    def name_of(self, visit: Visit) -> str:
        """The session this visit belongs to, if it is one of ours and theirs."""
        session = self._named(visit)
        return session.id if session is not None else ""

    def without_our_id(self, visit: Visit, message: bytes, wrong: WireError) -> WireError:
        """What is wrong with it, as its sender hears it. It may have been the answer to a question, under our id."""
        session = self._named(visit)
        if session is not None and session.conversation.misread(message, wrong):
            wrong.id = None
        return wrong

    def _named(self, visit: Visit) -> Session | None:
        id = visit.headers.get(SESSION)
        return self.sessions.find(id.decode("latin-1"), visit.caller) if id is not None else None

    async def _session(self, visit: Visit) -> Session | None:
        """The session this visit names; None after an answer that says why not."""
        if SESSION not in visit.headers:
            error = BadEnvelope("the header Mcp-Session-Id is missing", hint="send initialize first")
            await _refuse(visit.send, error)
            return None
        session = self._named(visit)
        if session is None:
            error = BadEnvelope(
                "this session is not known here, or has ended", hint="send initialize again, without it"
            )
            await asgi.answer(visit.send, 404, writing.failure_of(None, error), [JSON])
        return session

    async def drain(self, grace: float) -> None:
        self._closing = True
        await asyncio.gather(*(session.conversation.running.drain(grace) for session in self.sessions))
        self.sessions.close()


async def _pump(stream: EventStream, reader: int, visit: Visit) -> None:
    """Send what the stream has until it ends, its reader leaves or their token expires; the stream itself lives on."""
    stop_watching = visit.watch(partial(stream.leave, reader))
    visit.listen()
    try:
        await asgi.stream(visit.send, stream.read(reader, visit.caller.until))
    finally:
        stop_watching()


async def _refuse(send: Send, error: WireError | BadParams) -> None:
    await asgi.answer(send, 400, writing.failure_of(None, error), [JSON])

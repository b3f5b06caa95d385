"""Streamable HTTP as a bare ASGI application: who may enter, which page, which era. Mountable anywhere."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache, partial

from clawft.errors import BadEnvelope, Busy, LinkClosed, MessageTooLong, ParseError, WireError
from clawft.gateway.core import Gateway
from clawft.gateway.http.accept import ANY, takes
from clawft.gateway.http.access import Access, AccessAnswer, AccessRefusal, bearer_of
from clawft.gateway.http.session_door import SessionDoor
from clawft.gateway.http.stateless_door import StatelessDoor
from clawft.gateway.http.status import Status
from clawft.gateway.http.turnstile import Turnstile
from clawft.gateway.http.visit import HeaderLook, Visit
from clawft.link import asgi
from clawft.link.arrival import Arrival, FromAsgi
from clawft.link.asgi import JSON, TEXT, Header, Receive, Scope, Send
from clawft.link.share.load import COUNTED_BYTES
from clawft.link.share.waiting_room import LARGE_REQUESTS
from clawft.model import LOCAL, Caller
from clawft.wire import headers as headers_of
from clawft.wire.calls import read_usual
from clawft.wire.headers import Headers
from clawft.wire.jsonrpc import reading, writing
from clawft.wire.jsonrpc.batches import decode_batch, is_batch
from clawft.wire.jsonrpc.messages import Request
from clawft.wire.meta import claims_stateless
from clawft.wire.revisions import HANDSHAKE

ENDPOINT = "/mcp"
METADATA = "/.well-known/oauth-protected-resource"
"""Where we say how we are protected (RFC 9728)."""
UNAUTHORIZED = 401
SINGLE = frozenset((b"authorization", b"origin", b"content-type", b"mcp-session-id", b"last-event-id"))
"""Headers that must not be read in two ways."""
MAX_LOOKS = 256
"""A client sends the same headers again and again: what they tell is remembered for so many of them."""


class HttpApp:
    """The gateway over HTTP: `/mcp`, and `/healthz`, `/readyz`, `/metrics` beside it."""

    def __init__(
        self,
        gateway: Gateway,
        access: Access,
        *,
        path: str = ENDPOINT,
        max_body: int = asgi.MAX_BODY,
        rate: float = 0,
    ) -> None:
        """`rate`: requests a second that one caller may send; 0 means as many as it likes."""
        self._access = access
        self._turnstile = Turnstile(rate)
        self._path = path
        self._max_body = max_body
        self._stateless = StatelessDoor(gateway)
        self._sessions = SessionDoor(gateway)
        self._known_look = lru_cache(maxsize=MAX_LOOKS)(self._look)
        self._status = Status(gateway, path, self._stateless, self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Under any ASGI server; ours calls `serve`."""
        if scope["type"] == "http":
            await self.serve(FromAsgi(scope, receive, send))
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)

    def serve(self, arrival: Arrival) -> Awaitable[None]:
        head = arrival.head
        headers, path = head.headers, head.path
        look = self._known_look(headers) if isinstance(headers, tuple) else self._look(headers)
        if look.out_of_place is not None:
            return _refuse(arrival.send, look.out_of_place)
        if path != self._path and path != self._path + "/":
            return self._beside(head.method, path, arrival.send)
        caller = self._access.caller(look.headers)
        if isinstance(caller, Caller) and self._turnstile.stands_open(caller.principal):
            return self._enter(Visit(arrival, look, caller))
        return self._ask_in(arrival, look, caller)

    async def _ask_in(self, arrival: Arrival, look: HeaderLook, caller: AccessAnswer) -> None:
        """Who it is takes a moment to find out, or may not come in at once."""
        if not isinstance(caller, Caller | AccessRefusal):
            caller = await caller
        if isinstance(caller, AccessRefusal):
            await _refuse(arrival.send, self._in_doubt(arrival, look, caller))
        else:
            await self._enter_in_turn(Visit(arrival, look, caller))

    async def drain(self, grace: float) -> None:
        """New requests are refused, running ones get `grace` seconds, streams end."""
        await asyncio.gather(self._stateless.drain(grace), self._sessions.drain(grace))

    def _in_doubt(self, arrival: Arrival, look: HeaderLook, refusal: AccessRefusal) -> AccessRefusal:
        """Who shows no token wants to know where to get one; who shows a wrong one may be guessing."""
        if refusal.status != UNAUTHORIZED or not bearer_of(look.headers):
            return refusal
        client = arrival.client
        return self._turnstile.slow_down(client[0] if client else "", refusal)

    async def _enter_in_turn(self, visit: Visit) -> None:
        await self._counted(visit, 1, lambda: self._enter(visit))

    async def _counted(self, visit: Visit, count: int, serve: Callable[[], Awaitable[None]]) -> None:
        """As so many requests of this caller, if it may have them at once."""
        refusal = self._turnstile.enter(visit.caller.principal, count)
        if refusal is not None:
            await _refuse(visit.send, refusal)
            return
        try:
            await serve()
        finally:
            self._turnstile.leave(visit.caller.principal, count)

    def _beside(self, method: str, path: str, send: Send) -> Awaitable[None]:
        """Pages that need no token."""
        if self._access.metadata is not None and path in (METADATA, METADATA + self._path) and method == "GET":
            return asgi.answer(send, 200, self._access.metadata(), [JSON])
        return self._status.answer(method, path, send)

    def _enter(self, visit: Visit) -> Awaitable[None]:
        method = visit.method
        if method == "POST":
            return self._post(visit)
        if method in ("GET", "DELETE") and not visit.look.stateless:
            return self._sessions.stream_or_end(visit)
        allowed = b"POST" if visit.look.stateless else b"POST, GET, DELETE"
        return asgi.answer(visit.send, 405, b"method not allowed", [TEXT, (b"allow", allowed)])

    def _post(self, visit: Visit) -> Awaitable[None]:
        """One message in. Every way out of here has answered."""
        if visit.look.unfit is not None:
            return _refuse(visit.send, visit.look.unfit)
        try:
            body = visit.whole_body(self._max_body)
            if body is None:
                return self._receive(visit)
            return self._take(visit, body) if len(body) <= COUNTED_BYTES else self._carry(visit, body)
        except (MessageTooLong, ParseError, BadEnvelope) as wrong:
            return refuse_message(visit.send, wrong)

    async def _receive(self, visit: Visit) -> None:
        """One message in, whose body is still on its way."""
        if not 0 <= visit.announced() <= COUNTED_BYTES:
            await self._receive_large(visit)
            return
        try:
            answered = self._take(visit, await visit.body(self._max_body))
        except LinkClosed:
            return
        except (MessageTooLong, ParseError, BadEnvelope) as wrong:
            answered = refuse_message(visit.send, wrong)
        await answered

    async def _receive_large(self, visit: Visit) -> None:
        """Not read before there is room for it."""
        try:
            announced = min(max(visit.announced(), 0), self._max_body)
            with await LARGE_REQUESTS.enter(announced, self._holder(visit), visit.has_left) as load:
                await self._take(visit, await visit.large_body(self._max_body, load))
        except LinkClosed:
            return
        except (MessageTooLong, ParseError, BadEnvelope, Busy) as wrong:
            await refuse_message(visit.send, wrong)

    async def _carry(self, visit: Visit, body: bytes) -> None:
        """One large message in, which came at once."""
        try:
            with await LARGE_REQUESTS.enter(len(body), self._holder(visit), visit.has_left):
                taken = self._take(visit, body)
                del body  # it was read
                await taken
        except LinkClosed:
            return
        except (ParseError, BadEnvelope, Busy) as wrong:
            await refuse_message(visit.send, wrong)

    def _holder(self, visit: Visit) -> str:
        """Whose large request it is: a person's, else that of a session, else of the place it comes from."""
        principal = visit.caller.principal
        return principal if principal != LOCAL else self._sessions.name_of(visit) or visit.place()

    def _take(self, visit: Visit, body: bytes) -> Awaitable[None]:
        """Through the door of the era this message belongs to."""
        if visit.look.stateless:
            usual = read_usual(body)
            called = None if usual is None else self._stateless.call(visit, usual)
            if called is not None:
                return called
            message = reading.decode(body)
            del body  # which may be large, as may be what is read of it next
            return self._stateless.post(visit, message)
        if is_batch(body):
            return self._take_batch(visit, decode_batch(body))
        try:
            message = reading.decode(body)
        except (ParseError, BadEnvelope) as wrong:
            raise self._sessions.without_our_id(visit, body, wrong) from None
        del body
        if isinstance(message, Request) and claims_stateless(message.params):
            return self._stateless.post(visit, message)
        return self._sessions.post(visit, message)

    def _take_batch(self, visit: Visit, members: list[bytes]) -> Awaitable[None]:
        """Each member counts like a request of its own; the first came in with the batch."""
        more = 0 if self._turnstile.stands_open(visit.caller.principal) else len(members) - 1
        serve = partial(self._sessions.post_batch, visit, members)
        return self._counted(visit, more, serve) if more else serve()

    def _look(self, pairs: Sequence[Header]) -> HeaderLook:
        headers = dict(pairs)
        accepted = [value for name, value in pairs if name == b"accept"]
        if len(accepted) > 1:
            headers[b"accept"] = b", ".join(accepted)
        repeated = headers_of.repeated(pairs)
        return HeaderLook(
            headers,
            stateless=_is_stateless(pairs),
            repeated=repeated,
            route=None if repeated else headers_of.route(headers),
            out_of_place=_ambiguous(pairs) or self._access.check_place(headers),
            unfit=_unfit(headers),
        )


def _is_stateless(pairs: Sequence[Header]) -> bool:
    """A version header we do not know as a handshake one is stateless, so that its sender gets a structured answer;
    so are two that say different things.
    """
    versions = {value.decode("latin-1").strip() for name, value in pairs if name == headers_of.VERSION}
    return len(versions) > 1 or not versions.issubset(HANDSHAKE)


def _ambiguous(pairs: Sequence[Header]) -> AccessRefusal | None:
    """Of two tokens, or two origins, the one in front of us may have looked at the other."""
    counted = Counter(name for name, _ in pairs if name in SINGLE)
    twice = next((name for name, count in counted.items() if count > 1), b"").decode()
    return AccessRefusal(400, f"the header {twice} occurs twice") if twice else None


def _unfit(headers: Headers) -> AccessRefusal | None:
    if not _is_json(headers.get(b"content-type", b"")):
        return AccessRefusal(415, "the body must be application/json, in UTF-8")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        return AccessRefusal(415, "send the body as it is, not compressed")
    accept = headers.get(b"accept", ANY)
    if accept != ANY and not (takes(accept, b"application/json") and takes(accept, b"text/event-stream")):
        return AccessRefusal(406, "accept application/json and text/event-stream")
    return None


def _is_json(content_type: bytes) -> bool:
    kind, _, parameters = content_type.lower().partition(b";")
    charset = parameters.partition(b"charset=")[2].partition(b";")[0].strip(b' "')
    return kind.strip() == b"application/json" and charset in (b"", b"utf-8", b"utf8", b"us-ascii")


async def refuse_message(send: Send, error: WireError | Busy) -> None:
    """A JSON-RPC error with the HTTP status that goes with it."""
    id = error.id if isinstance(error, WireError) else None
    await asgi.answer(send, error.status, writing.failure_of(id, error), [JSON])


async def _refuse(send: Send, refusal: AccessRefusal) -> None:
    more: list[Header] = [(b"www-authenticate", refusal.challenge.encode())] if refusal.challenge else []
    if refusal.retry_s:
        more += [(b"retry-after", b"%d" % refusal.retry_s), (b"connection", b"close")]
    await asgi.answer(send, refusal.status, refusal.message.encode(), [TEXT, *more])


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return

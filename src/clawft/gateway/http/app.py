"""Streamable HTTP as a bare ASGI application: checks who calls, then routes by page, method and era."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache, partial

from clawft.errors import BadEnvelope, Busy, LinkClosed, MessageTooLong, ParseError, WireError
from clawft.gateway.core import Gateway
from clawft.gateway.http.accept import ANY, takes
from clawft.gateway.http.access import Access, AccessAnswer, AccessRefusal, bearer_of
from clawft.gateway.http.authorized_request import AuthorizedRequest, HeaderChecks
from clawft.gateway.http.rate_limits import RateLimits
from clawft.gateway.http.session_endpoint import SessionEndpoint
from clawft.gateway.http.stateless_endpoint import StatelessEndpoint
from clawft.gateway.http.status import Status
from clawft.link import asgi
from clawft.link.asgi import JSON, TEXT, Header, Receive, Scope, Send
from clawft.link.http_request import AsgiRequest, HttpRequest
from clawft.link.share.admission import LARGE_REQUESTS
from clawft.link.share.byte_limits import COUNTED_BYTES
from clawft.model import LOCAL, Caller
from clawft.wire import headers as headers_of
from clawft.wire.calls import read_usual
from clawft.wire.headers import Headers
from clawft.wire.jsonrpc import reading, writing
from clawft.wire.jsonrpc.batches import decode_batch, is_batch, unknown_here
from clawft.wire.jsonrpc.messages import Request
from clawft.wire.meta import claims_stateless
from clawft.wire.revisions import HANDSHAKE

ENDPOINT = "/mcp"
METADATA = "/.well-known/oauth-protected-resource"
"""Where we say how we are protected (RFC 9728)."""
UNAUTHORIZED = 401
SINGLE = frozenset((b"authorization", b"origin", b"content-type", b"mcp-session-id", b"last-event-id"))
"""Headers that may occur only once."""
MAX_REMEMBERED_HEADERS = 256
"""A client sends the same headers again and again, so the checks of this many sets of headers are remembered."""


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
        self._limits = RateLimits(rate)
        self._path = path
        self._max_body = max_body
        self._stateless = StatelessEndpoint(gateway)
        self._sessions = SessionEndpoint(gateway)
        self._known_checks = lru_cache(maxsize=MAX_REMEMBERED_HEADERS)(self._check)
        self._status = Status(gateway, path, self._stateless, self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The entry for other ASGI servers; our own calls `serve`."""
        if scope["type"] == "http":
            await self.serve(AsgiRequest(scope, receive, send))
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)

    def serve(self, request: HttpRequest) -> Awaitable[None]:
        head = request.head
        headers, path = head.headers, head.path
        checks = self._known_checks(headers) if isinstance(headers, tuple) else self._check(headers)
        if checks.place_refusal is not None:
            return _refuse(request.send, checks.place_refusal)
        if path != self._path and path != self._path + "/":
            return self._other_page(head.method, path, request.send)
        caller = self._access.caller(checks.headers)
        if isinstance(caller, Caller) and self._limits.is_unlimited(caller.principal):
            return self._route(AuthorizedRequest(request, checks, caller))
        return self._authenticate(request, checks, caller)

    async def _authenticate(self, request: HttpRequest, checks: HeaderChecks, caller: AccessAnswer) -> None:
        """The way of a request whose token has to be verified, was refused, or counts against a limit."""
        if not isinstance(caller, Caller | AccessRefusal):
            caller = await caller
        if isinstance(caller, AccessRefusal):
            await _refuse(request.send, self._limit_guesses(request, checks, caller))
        else:
            await self._route_counted(AuthorizedRequest(request, checks, caller))

    async def drain(self, grace: float) -> None:
        """New requests are refused, running ones get `grace` seconds, streams end."""
        await asyncio.gather(self._stateless.drain(grace), self._sessions.drain(grace))

    def _limit_guesses(self, request: HttpRequest, checks: HeaderChecks, refusal: AccessRefusal) -> AccessRefusal:
        """A client without a token is told where to get one; one with a wrong token may be guessing, and is limited."""
        if refusal.status != UNAUTHORIZED or not bearer_of(checks.headers):
            return refusal
        client = request.client
        return self._limits.limit_wrong_tokens(client[0] if client else "", refusal)

    async def _route_counted(self, http: AuthorizedRequest) -> None:
        await self._counted(http, 1, lambda: self._route(http))

    async def _counted(self, http: AuthorizedRequest, count: int, serve: Callable[[], Awaitable[None]]) -> None:
        """Serve it as `count` requests of this caller, or refuse it if that is more than its limit."""
        refusal = self._limits.enter(http.caller.principal, count)
        if refusal is not None:
            await _refuse(http.send, refusal)
            return
        try:
            await serve()
        finally:
            self._limits.leave(http.caller.principal, count)

    def _other_page(self, method: str, path: str, send: Send) -> Awaitable[None]:
        """Pages that need no token."""
        if self._access.metadata is not None and path in (METADATA, METADATA + self._path) and method == "GET":
            return asgi.answer(send, 200, self._access.metadata(), [JSON])
        return self._status.answer(method, path, send)

    def _route(self, http: AuthorizedRequest) -> Awaitable[None]:
        method = http.method
        if method == "POST":
            return self._post(http)
        if method in ("GET", "DELETE") and not http.checks.stateless:
            return self._sessions.stream_or_end(http)
        allowed = b"POST" if http.checks.stateless else b"POST, GET, DELETE"
        return asgi.answer(http.send, 405, b"method not allowed", [TEXT, (b"allow", allowed)])

    def _post(self, http: AuthorizedRequest) -> Awaitable[None]:
        """Take one message. Whatever comes of it, the request is answered."""
        if http.checks.post_refusal is not None:
            return _refuse(http.send, http.checks.post_refusal)
        try:
            body = http.whole_body(self._max_body)
            if body is None:
                return self._post_streamed(http)
            return self._deliver(http, body) if len(body) <= COUNTED_BYTES else self._post_large(http, body)
        except (MessageTooLong, ParseError, BadEnvelope) as wrong:
            return refuse_message(http.send, wrong)

    async def _post_streamed(self, http: AuthorizedRequest) -> None:
        """Take a message whose body is still arriving."""
        if not 0 <= http.announced_length() <= COUNTED_BYTES:
            await self._post_large_streamed(http)
            return
        try:
            answered = self._deliver(http, await http.body(self._max_body))
        except LinkClosed:
            return
        except (MessageTooLong, ParseError, BadEnvelope) as wrong:
            answered = refuse_message(http.send, wrong)
        await answered

    async def _post_large_streamed(self, http: AuthorizedRequest) -> None:
        """Take a large message whose body is still arriving: it is not read before there is room for it."""
        try:
            announced = min(max(http.announced_length(), 0), self._max_body)
            with await LARGE_REQUESTS.enter(announced, self._load_owner(http), http.is_disconnected) as load:
                await self._deliver(http, await http.large_body(self._max_body, load))
        except LinkClosed:
            return
        except (MessageTooLong, ParseError, BadEnvelope, Busy) as wrong:
            await refuse_message(http.send, wrong)

    async def _post_large(self, http: AuthorizedRequest, body: bytes) -> None:
        """Take a large message that has arrived whole."""
        try:
            with await LARGE_REQUESTS.enter(len(body), self._load_owner(http), http.is_disconnected):
                taken = self._deliver(http, body)
                del body  # it was read
                await taken
        except LinkClosed:
            return
        except (ParseError, BadEnvelope, Busy) as wrong:
            await refuse_message(http.send, wrong)

    def _load_owner(self, http: AuthorizedRequest) -> str:
        """The owner that a large request counts for: a person, else a session, else the address it comes from."""
        principal = http.caller.principal
        return principal if principal != LOCAL else self._sessions.name_of(http) or http.client_network()

    def _deliver(self, http: AuthorizedRequest, body: bytes) -> Awaitable[None]:
        """Hand the message to the endpoint of its era."""
        if http.checks.stateless:
            usual = read_usual(body)
            called = None if usual is None else self._stateless.call(http, usual)
            if called is not None:
                return called
            if is_batch(body):
                raise unknown_here()
            message = reading.decode(body)
            del body  # which may be large, as may be what is read of it next
            return self._stateless.post(http, message)
        if is_batch(body):
            return self._deliver_batch(http, body)
        try:
            message = reading.decode(body)
        except (ParseError, BadEnvelope) as wrong:
            raise self._sessions.without_our_id(http, body, wrong) from None
        del body
        if isinstance(message, Request) and claims_stateless(message.params):
            return self._stateless.post(http, message)
        return self._sessions.post(http, message)

    def _deliver_batch(self, http: AuthorizedRequest, body: bytes) -> Awaitable[None]:
        """Each member counts as a request; the first was counted with the batch."""
        if not self._sessions.knows_batches(http):
            raise unknown_here()
        members = decode_batch(body)
        more = 0 if self._limits.is_unlimited(http.caller.principal) else len(members) - 1
        serve = partial(self._sessions.post_batch, http, members)
        return self._counted(http, more, serve) if more else serve()

    def _check(self, pairs: Sequence[Header]) -> HeaderChecks:
        headers = dict(pairs)
        accepted = [value for name, value in pairs if name == b"accept"]
        if len(accepted) > 1:
            headers[b"accept"] = b", ".join(accepted)
        repeated = headers_of.repeated(pairs)
        return HeaderChecks(
            headers,
            stateless=_is_stateless(pairs),
            repeated=repeated,
            route=None if repeated else headers_of.route(headers),
            place_refusal=_ambiguous(pairs) or self._access.check_place(headers),
            post_refusal=_unfit(headers),
        )


def _is_stateless(pairs: Sequence[Header]) -> bool:
    """Any version header but a known handshake revision counts as stateless, so that its sender gets a structured
    error; so do two that differ.
    """
    versions = {value.decode("latin-1").strip() for name, value in pairs if name == headers_of.VERSION}
    return len(versions) > 1 or not versions.issubset(HANDSHAKE)


def _ambiguous(pairs: Sequence[Header]) -> AccessRefusal | None:
    """Of two tokens or two origins, a proxy in front of us may have checked the one that we ignore."""
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

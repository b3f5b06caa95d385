"""Streamable HTTP as a bare ASGI application: who may enter, which page, which era. Mountable anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from clawft.errors import BadEnvelope, ClawftError, LinkClosed, MessageTooLong, ParseError
from clawft.gateway.access import Access, Refusal
from clawft.gateway.core import Gateway
from clawft.gateway.http_sessions import SessionDoor
from clawft.gateway.http_stateless import StatelessDoor
from clawft.gateway.status import Status
from clawft.link import asgi
from clawft.link.asgi import JSON, TEXT, Receive, Scope, Send
from clawft.model import Caller
from clawft.wire import headers as headers_of
from clawft.wire import jsonrpc, stateless
from clawft.wire.headers import Headers
from clawft.wire.jsonrpc import Message, Request
from clawft.wire.revisions import HANDSHAKE

ENDPOINT = "/mcp"


class HttpApp:
    """The gateway over HTTP: `/mcp`, and `/healthz`, `/readyz`, `/metrics` beside it."""

    def __init__(
        self, gateway: Gateway, access: Access, *, path: str = ENDPOINT, max_body: int = asgi.MAX_BODY
    ) -> None:
        self._access = access
        self._path = path
        self._max_body = max_body
        self._stateless = StatelessDoor(gateway)
        self._sessions = SessionDoor(gateway)
        self._status = Status(gateway, self._stateless, self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def drain(self, grace: float) -> None:
        """New requests are refused, running ones get `grace` seconds, streams end."""
        await asyncio.gather(self._stateless.drain(grace), self._sessions.drain(grace))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = dict(scope["headers"])
        path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        refusal = self._access.check_place(headers)
        if refusal is not None:
            await _refuse(send, refusal)
        elif path == self._path or path == self._path + "/":
            await self._enter(scope, headers, receive, send)
        else:
            await self._status.answer(scope["method"], path, send)

    async def _enter(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        caller = self._access.caller(headers)
        if isinstance(caller, Refusal):
            await _refuse(send, caller)
            return
        method: str = scope["method"]
        if method == "POST":
            await self._post(scope, caller, receive, send)
        elif method in ("GET", "DELETE") and not _is_stateless(headers):
            await self._sessions.stream_or_end(method, headers, caller, receive, send)
        else:
            allowed = b"POST" if _is_stateless(headers) else b"POST, GET, DELETE"
            await asgi.answer(send, 405, b"method not allowed", [TEXT, (b"allow", allowed)])

    async def _post(self, scope: Scope, caller: Caller, receive: Receive, send: Send) -> None:
        """One message in. Every way out of here has answered."""
        headers: Headers = dict(scope["headers"])
        if not _is_json(headers):
            await asgi.answer(send, 415, b"the body must be application/json", [TEXT])
            return
        if not _accepts(headers):
            await asgi.answer(send, 406, b"accept application/json and text/event-stream", [TEXT])
            return
        try:
            body = await asgi.read_body(receive, self._max_body)
            door, message = self._choose(body, headers)
        except LinkClosed:
            return
        except (MessageTooLong, ParseError, BadEnvelope) as wrong:
            await refuse_message(send, wrong, getattr(wrong, "id", None))
            return
        await door(message, body, scope["headers"], caller, receive, send)

    def _choose(self, body: bytes, headers: Headers) -> tuple[Door, Message | None]:
        """The door of the era this message belongs to; None for a batch, which only sessions may know."""
        if _is_stateless(headers):
            return self._stateless.post, jsonrpc.decode(body)
        if jsonrpc.is_batch(body):
            return self._sessions.post, None
        message = jsonrpc.decode(body)
        if isinstance(message, Request) and stateless.claims(message):
            return self._stateless.post, message
        return self._sessions.post, message


Door = Callable[
    [Message | None, bytes, list[tuple[bytes, bytes]], Caller, Receive, Send],
    Awaitable[None],
]


def _is_stateless(headers: Headers) -> bool:
    """A version header we do not know as a handshake one is stateless, so that its sender gets a structured answer."""
    version = headers.get(headers_of.VERSION)
    return version is not None and version.decode("latin-1").strip() not in HANDSHAKE


def _is_json(headers: Headers) -> bool:
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower() == b"application/json"


def _accepts(headers: Headers) -> bool:
    accept = headers.get(b"accept", b"*/*").lower()
    if b"*/*" in accept:
        return True
    return (b"application/json" in accept or b"application/*" in accept) and (
        b"text/event-stream" in accept or b"text/*" in accept
    )


async def refuse_message(send: Send, error: ClawftError, id: bytes | None) -> None:
    """A JSON-RPC error with the HTTP status that goes with it."""
    await asgi.answer(send, error.status, jsonrpc.failure_of(id, error), [JSON])


async def _refuse(send: Send, refusal: Refusal) -> None:
    challenge = [(b"www-authenticate", b'Bearer realm="clawft"')] if refusal.challenge else []
    await asgi.answer(send, refusal.status, refusal.message.encode(), [TEXT, *challenge])


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return

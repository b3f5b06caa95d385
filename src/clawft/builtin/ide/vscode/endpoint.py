"""The HTTP endpoint on loopback where editor windows register, stay in touch, and may fetch operations.

Everything is refused that a web page could send: an Origin, a foreign Host, a body that is not JSON. To register a
window needs the token of our rendezvous file; afterwards it is known by a secret it has made itself.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import secrets
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from clawft._version import __version__
from clawft.builtin.ide.hub import IdeHub
from clawft.builtin.ide.vscode.backend import CalledIde, FetchingIde, VsCodeIde
from clawft.builtin.ide.vscode.register import Beat, ConnectionRef, PostedAnswer, Registration, objection, window_of
from clawft.builtin.ide.vscode.rendezvous import TOKEN_BYTES, invite
from clawft.errors import IdeError, LinkClosed, MessageTooLong
from clawft.link import asgi
from clawft.link.asgi import JSON, TEXT, Receive, Scope, Send
from clawft.link.http_in.server import HttpServer, of_asgi
from clawft.wire.strings import decode_mended

MAX_BODY_BYTES = 4 * 1024 * 1024
HEARTBEAT_SECONDS = 10
SUSPECT_BEATS, LOST_BEATS = 2, 3
WATCH_SECONDS = 5.0
FIRST_PING_SECONDS = 10.0
FETCH_SECONDS = 25.0
NOT_READY_SECONDS = 30.0
"""A window that does not answer for this long is not used until it answers again."""
STOP_SECONDS = 1.0
EVENTS = frozenset({"selection", "editors", "diagnostics"})

_UNKNOWN = "this window is not known here: register again"

log = logging.getLogger("clawft.ide")

T = TypeVar("T")


class EndpointRefusal(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class EditorEndpoint:
    """The endpoint, open from `open` to `close`."""

    def __init__(self, hub: IdeHub, home: Path) -> None:
        self._hub = hub
        self._home = home
        self._token = secrets.token_hex(TOKEN_BYTES)
        self._server = HttpServer(of_asgi(self._serve))
        self._host = b""
        self._windows: dict[str, VsCodeIde] = {}
        self._file: Path | None = None
        self._watching: asyncio.Task[None] | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        host, port = await self._server.start("127.0.0.1", 0)
        self._host = f"{host}:{port}".encode()
        self._url = f"http://{host}:{port}"
        self._file = await asyncio.to_thread(invite, self._home, self._url, self._token, self._hub.workspace)
        self._watching = loop.create_task(self._watch())

    async def close(self) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await asyncio.gather(*(self._drop(id) for id in list(self._windows)))
        await self._server.stop(STOP_SECONDS)

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope, receive)
        except EndpointRefusal as refused:
            log.warning("an editor was refused at %s: %s", scope["path"][:100], refused.why)
            await asgi.answer(send, refused.status, refused.why.encode(), [TEXT])
        except LinkClosed:
            return
        else:
            await asgi.answer(send, 200, msgspec.json.encode(answer), [JSON])

    async def _answer(self, scope: Scope, receive: Receive) -> Any:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        check_place(headers, self._host)
        method, path = scope["method"], scope["path"]
        if (method, path) == ("GET", "/ide/next"):
            return await self._next(headers, scope["query_string"].decode("latin-1"))
        if method != "POST" or path not in _PAGES:
            raise EndpointRefusal(404, "there is nothing here")
        secret = bearer(headers)
        if path == "/ide/register" and not hmac.compare_digest(secret, self._token.encode()):
            raise EndpointRefusal(401, "the registration token is wrong")
        if path != "/ide/register" and not any(each.knows(secret) for each in self._windows.values()):
            raise EndpointRefusal(401, _UNKNOWN)
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            raise EndpointRefusal(415, "the body must be application/json")
        return await _PAGES[path](self, await self._read(receive), secret)

    async def _read(self, receive: Receive) -> bytes:
        try:
            return await asgi.read_body(receive, MAX_BODY_BYTES)
        except MessageTooLong:
            raise EndpointRefusal(413, f"a body may have {MAX_BODY_BYTES} bytes") from None

    async def register(self, body: bytes, secret: bytes) -> Any:
        registration = decode(body, Registration)
        why = objection(registration)
        if why:
            raise EndpointRefusal(400, why)
        now = asyncio.get_running_loop().time
        window = window_of(registration)
        ide = (
            FetchingIde(window, registration.secret, now)
            if registration.callback is None
            else CalledIde(window, registration.secret, now, registration.callback)
        )
        if isinstance(ide, CalledIde) and not await ide.ping(FIRST_PING_SECONDS):
            await ide.close()
            raise EndpointRefusal(424, "the window does not answer a ping at its callback")
        id = await self._take_in(ide)
        log.info("window %s has registered: %s %s", window.id, window.ide, ", ".join(window.folders))
        return {"connectionId": id, "heartbeatSeconds": HEARTBEAT_SECONDS, "gatewayVersion": __version__}

    async def _take_in(self, ide: VsCodeIde) -> str:
        """Register a window; it replaces an earlier registration of its own."""
        for id, each in list(self._windows.items()):
            if each.window.id == ide.window.id:
                await self._drop(id)
        try:
            self._hub.connect(ide)
        except IdeError as full:
            await ide.close()
            raise EndpointRefusal(503, str(full)) from None
        id = secrets.token_hex(16)
        self._windows[id] = ide
        return id

    async def heartbeat(self, body: bytes, secret: bytes) -> Any:
        beat = decode(body, Beat)
        ide = self._known(beat.connection_id, secret)
        ide.heard(beat)
        for event in dict.fromkeys(beat.events):
            if event in EVENTS:
                self._hub.happened(event)
        return {"gatewayVersion": __version__}

    async def goodbye(self, body: bytes, secret: bytes) -> Any:
        named = decode(body, ConnectionRef)
        self._known(named.connection_id, secret)
        await self._drop(named.connection_id)
        return {}

    async def answered(self, body: bytes, secret: bytes) -> Any:
        posted = decode(body, PostedAnswer)
        ide = self._known(posted.connection_id, secret)
        if isinstance(ide, FetchingIde):
            ide.answered(posted.id, bytes(posted.answer))
        return {}

    async def _next(self, headers: dict[bytes, bytes], query: str) -> Any:
        ide = self._known(query.removeprefix("connection="), bearer(headers))
        if not isinstance(ide, FetchingIde):
            raise EndpointRefusal(409, "this window is called, it does not fetch")
        ide.beat = asyncio.get_running_loop().time()
        return {"calls": await ide.fetch(FETCH_SECONDS)}

    def _known(self, id: str, secret: bytes) -> VsCodeIde:
        ide = self._windows.get(id)
        if ide is None or not ide.knows(secret):
            raise EndpointRefusal(401, _UNKNOWN)
        return ide

    # ── who is still there ───────────────────────────────────────────────────────────────────────────────────────────

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            await asyncio.to_thread(self._touch)
            await asyncio.gather(*(self._check(id, ide) for id, ide in list(self._windows.items())))

    def _touch(self) -> None:
        """Touch our file to show that we run; write it again if another gateway removed it as stale."""
        if self._file is not None:
            try:
                os.utime(self._file)
            except OSError:
                self._file = invite(self._home, self._url, self._token, self._hub.workspace)

    async def _check(self, id: str, ide: VsCodeIde) -> None:
        now = asyncio.get_running_loop().time()
        silent = (now - ide.beat) / HEARTBEAT_SECONDS
        if silent >= LOST_BEATS or (silent >= SUSPECT_BEATS and not await ide.ping()):
            log.info("window %s is gone: it was not heard of for %d s", ide.window.id, now - ide.beat)
            await self._drop(id)
        elif ide.not_ready_since and now - ide.not_ready_since >= NOT_READY_SECONDS:
            log.info("window %s does not answer any more, only the process behind it", ide.window.id)
            await self._drop(id)

    async def _drop(self, id: str) -> None:
        ide = self._windows.pop(id, None)
        if ide is not None:
            self._hub.disconnect(ide)
            await ide.close()


_PAGES = {
    "/ide/register": EditorEndpoint.register,
    "/ide/heartbeat": EditorEndpoint.heartbeat,
    "/ide/goodbye": EditorEndpoint.goodbye,
    "/ide/answer": EditorEndpoint.answered,
}


def check_place(headers: dict[bytes, bytes], host: bytes) -> None:
    """Refuse requests of web pages: they send an Origin, and a name they point to 127.0.0.1 shows as Host."""
    if b"origin" in headers:
        raise EndpointRefusal(403, "requests from web pages are refused")
    if headers.get(b"host", b"") != host:
        raise EndpointRefusal(403, "this host is not served here")


def bearer(headers: dict[bytes, bytes]) -> bytes:
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def decode(body: bytes, kind: type[T]) -> T:
    try:
        return decode_mended(msgspec.json.Decoder(kind), body)
    except msgspec.DecodeError as wrong:
        raise EndpointRefusal(400, f"the body is not what this page takes: {wrong}") from None

"""A small client that drives an ASGI application in this process: no socket, no server, and it can leave early."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from clawft.gateway.core import Gateway
from clawft.gateway.http.access import LOOPBACK_HOSTS, Access, open_to_all
from clawft.gateway.http.app import HttpApp
from clawft.model import Caller
from clawft.wire.headers import encode_value
from clawft.wire.sse import EventReader, SseEvent
from tests.gateway.support import SECONDS, Json

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
POSTED = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Answer:
    """One request and what came back so far."""

    def __init__(self, app: Any, scope: Json, body: bytes | list[bytes]) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.ended = False
        self.events: list[SseEvent] = []
        self._reader = EventReader()
        self._parts = body if isinstance(body, list) else [body]
        self._left = asyncio.Event()
        self._news = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> MutableMapping[str, Any]:
        if self._parts:
            part = self._parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self._parts)}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            assert self.status == 0, "two answers"
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            assert self.status, "a body before its head"
            assert not self.ended, "more after the end"
            self.body += message.get("body", b"")
            self.ended = not message.get("more_body", False)
            if self.headers.get("content-type") == "text/event-stream":
                self.events.extend(self._reader.feed(message.get("body", b"")))
        self._news.set()

    def leave(self) -> None:
        """Close the connection from the caller's side."""
        self._left.set()

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(SECONDS):
            while not true():
                self._news.clear()
                await self._news.wait()

    async def whole(self) -> Answer:
        async with asyncio.timeout(SECONDS):
            await self.task
        assert self.ended, "no answer, or half of one"
        return self

    async def message(self, wanted: Callable[[Json], bool] = lambda message: True) -> Json:
        """The first streamed message like this."""
        await self.until(lambda: any(wanted(message) for message in self.messages))
        return next(message for message in self.messages if wanted(message))

    @property
    def messages(self) -> list[Json]:
        return [json.loads(event.data) for event in self.events if event.data]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Http:
    """Callers of one application. Every request is JSON to `/mcp` on a loopback name unless said otherwise."""

    def __init__(self, app: HttpApp) -> None:
        self.app = app
        self._open: list[Answer] = []

    def start(
        self, method: str, body: bytes | list[bytes] = b"", headers: dict[str, str] | None = None, path: str = "/mcp"
    ) -> Answer:
        told = {"host": "127.0.0.1:8765", **(headers or {})}
        pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in told.items() if value]
        scope: Json = {"type": "http", "method": method, "path": path, "headers": pairs, "root_path": ""}
        answer = Answer(self.app, scope, body)
        self._open.append(answer)
        return answer

    def post(self, message: Any, headers: dict[str, str] | None = None) -> Answer:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.start("POST", body, {**POSTED, **(headers or {})})

    async def close(self) -> None:
        for answer in self._open:
            answer.leave()
        async with asyncio.timeout(SECONDS):
            await asyncio.gather(*(answer.task for answer in self._open))

    # ── 2026-07-28 ───────────────────────────────────────────────────────────────────────────────────────────────────

    def stateless(self, method: str, params: Json, id: Any = 1, headers: dict[str, str] | None = None) -> Answer:
        told = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        if isinstance(name := params.get(NAMED.get(method, "taskId")), str):
            told["mcp-name"] = encode_value(name)
        return self.post({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, {**told, **(headers or {})})

    # ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def initialize(self, revision: str = "2025-11-25", capabilities: Json | None = None) -> Session:
        hello = {"protocolVersion": revision, "capabilities": capabilities or {}}
        opened = await self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).whole()
        assert opened.status == 200
        return Session(self, opened.headers["mcp-session-id"], revision)


class Session:
    """A caller of the handshake era."""

    def __init__(self, http: Http, id: str, revision: str) -> None:
        self.http = http
        self.headers = {"mcp-session-id": id, "mcp-protocol-version": revision}

    def send(self, method: str, params: Json | None = None, id: Any = 1) -> Answer:
        return self.write({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})

    def write(self, message: Any) -> Answer:
        return self.http.post(message, self.headers)

    def stream(self, last_event: str = "") -> Answer:
        return self.http.start(
            "GET", headers={**self.headers, "accept": "text/event-stream", "last-event-id": last_event}
        )


@asynccontextmanager
async def http(gateway: Gateway, access: Access | None = None, **options: Any) -> AsyncGenerator[Http]:
    app = HttpApp(gateway, access or Access(open_to_all(Caller()), LOOPBACK_HOSTS), **options)
    client = Http(app)
    try:
        yield client
    finally:
        gateway.closing.set()
        await app.drain(0)
        await client.close()
        await gateway.close()

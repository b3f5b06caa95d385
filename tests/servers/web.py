"""An HTTP server on loopback that answers as a test tells it, and keeps what it was asked."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Respond = Callable[["Asked"], Awaitable[web.StreamResponse]]


class Asked:
    """One request: the HTTP side and, for a POST, the message in it."""

    def __init__(self, http: web.Request, body: bytes) -> None:
        self.http = http
        self.method = http.method
        self.headers = http.headers
        self.message: dict[str, Any] = json.loads(body) if body else {}
        self.closed = asyncio.Event()
        """Set when the client has left before the answer was whole."""

    @property
    def about(self) -> str:
        return self.message.get("method") or self.method

    def result(self, result: Any, **headers: str) -> web.Response:
        body = {"jsonrpc": "2.0", "id": self.message.get("id"), "result": result}
        return web.json_response(body, headers=headers)

    def error(self, code: int, message: str, status: int = 200, data: Any = None) -> web.Response:
        error = {"code": code, "message": message, "data": data}
        return web.json_response({"jsonrpc": "2.0", "id": self.message.get("id"), "error": error}, status=status)

    async def stream(self, **headers: str) -> "Events":
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **headers})
        await response.prepare(self.http)
        return Events(response)


class Events:
    def __init__(self, response: web.StreamResponse) -> None:
        self.response = response

    async def send(self, message: object | None = None, **fields: Any) -> None:
        lines = [f"{name}: {value}" for name, value in fields.items()]
        if message is not None:
            lines.append(f"data: {message if isinstance(message, str) else json.dumps(message)}")
        await self.response.write(("\r\n".join(lines) + "\r\n\r\n").encode())


class Web:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""

    def about(self, what: str) -> list[Asked]:
        return [each for each in self.asked if each.about == what]


@asynccontextmanager
async def serve(respond: Respond, path: str = "/mcp") -> AsyncGenerator[Web]:
    seen = Web()

    async def take(http: web.Request) -> web.StreamResponse:
        asked = Asked(http, await http.read())
        seen.asked.append(asked)
        try:
            return await respond(asked)
        except (asyncio.CancelledError, ConnectionResetError):
            asked.closed.set()
            raise

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", take)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        seen.url = f"http://127.0.0.1:{port}{path}"
        yield seen
    finally:
        await runner.cleanup()

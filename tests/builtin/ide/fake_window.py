"""A window of VS Code that is not there: what our extension does on the wire, in Python."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp

from clawft.link import asgi
from clawft.link.asgi import JSON, Receive, Scope, Send
from clawft.link.http_in.server import HttpServer, of_asgi

PATIENCE_S = 20.0

Handler = Callable[[dict[str, Any]], Any]


class FakeWindow:
    """`handlers` answer operations; `asked` tells which came; `gone` makes it answer nothing but not_ready."""

    def __init__(self, folders: list[Path], id: str) -> None:
        self.folders = [str(folder) for folder in folders]
        self.id = id
        self.secret = secrets.token_hex(32)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[bytes, bytes]] = []
        self.cancelled: list[str] = []
        self.handlers: dict[str, Handler] = {"ping": lambda params: {"ok": True}}
        self.gone = False
        self.callback = ""
        self.connection_id = ""

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self.headers.append(headers)
        if scope["method"] == "DELETE":
            self.cancelled.append(scope["path"])
            await asgi.answer(send, 200, b"{}", [JSON])
            return
        assert headers[b"authorization"] == f"Bearer {self.secret}".encode()
        asked = json.loads(await asgi.read_body(receive))
        await asgi.answer(send, 200, json.dumps(await self.answer(asked["method"], asked["params"])).encode(), [JSON])

    async def answer(self, method: str, params: dict[str, Any]) -> Any:
        self.asked.append((method, params))
        if self.gone:
            return {"error": {"code": "not_ready", "message": "the window does not answer"}}
        handler = self.handlers.get(method)
        if handler is None:
            return {"error": {"code": "failed", "message": f"unknown operation {method}"}}
        said = handler(params)
        return await said if asyncio.iscoroutine(said) else said if "error" in (said or {}) else {"result": said}

    def registration(self, **changes: Any) -> dict[str, Any]:
        said: dict[str, Any] = {
            "protocol": 1,
            "callback": self.callback,
            "secret": self.secret,
            "ide": "fake",
            "version": "1",
            "instanceId": self.id,
            "folders": self.folders,
            "trusted": True,
            "focused": False,
            "capabilities": [],
        }
        return {**said, **changes}


@asynccontextmanager
async def window(*folders: Path, id: str = "abcdef123456") -> AsyncGenerator[FakeWindow]:
    """One that listens."""
    fake = FakeWindow(list(folders), id)
    server = HttpServer(of_asgi(fake.serve))
    host, port = await server.start()
    fake.callback = f"http://{host}:{port}/"
    try:
        yield fake
    finally:
        await server.stop(1.0)


async def until(true: Callable[[], bool]) -> None:
    """For what happens in another process or task and tells nobody."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.02)


async def invitation(home: Path) -> dict[str, Any]:
    """What a gateway has left in its folder, once it has. We make the folder, as the extension does."""
    folder = home / "ide"
    folder.mkdir(mode=0o700, exist_ok=True)
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for file in folder.glob("gateway-*.json"):
                return json.loads(file.read_text())
            await asyncio.sleep(0.05)


async def post(
    told: dict[str, Any], page: str, token: str, body: Any, *, method: str = "POST", **headers: str
) -> tuple[int, str]:
    """Status and text of one request to the endpoint."""
    data = BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    async with (
        asyncio.timeout(40),
        aiohttp.ClientSession() as client,
        client.request(method, told["url"] + page, data=data if method == "POST" else None, headers=sent) as response,
    ):
        return response.status, await response.text()


async def register(told: dict[str, Any], fake: FakeWindow, **changes: Any) -> tuple[int, str]:
    status, text = await post(told, "/ide/register", told["registrationToken"], fake.registration(**changes))
    if status == 200:
        fake.connection_id = json.loads(text)["connectionId"]
    return status, text

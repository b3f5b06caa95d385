"""A gateway that is not there: it lets windows register and shows what they said, so that they can be attacked."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from clawft.link import asgi
from clawft.link.asgi import JSON, Receive, Scope, Send
from clawft.link.http_in.server import HttpServer, of_asgi

TOKEN = "f" * 64


class FakeGateway:
    def __init__(self) -> None:
        self.registered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.beats: list[dict[str, Any]] = []

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = json.loads(await asgi.read_body(receive) or b"{}")
        if scope["path"] == "/ide/register" and not self.registered.done():
            assert dict(scope["headers"])[b"authorization"] == f"Bearer {TOKEN}".encode()
            self.registered.set_result(said)
        elif scope["path"] == "/ide/heartbeat":
            self.beats.append(said)
        answer = {"connectionId": "c1", "heartbeatSeconds": 1, "gatewayVersion": "fake"}
        await asgi.answer(send, 200, json.dumps(answer).encode(), [JSON])


@asynccontextmanager
async def fake_gateway(home: Path) -> AsyncGenerator[FakeGateway]:
    """Serving, with its invitation written."""
    gateway = FakeGateway()
    server = HttpServer(of_asgi(gateway.serve))
    host, port = await server.start()
    folder = home / "ide"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / "gateway-9-fake.json"
    told = {"protocol": 1, "url": f"http://{host}:{port}", "pid": 9, "started": 0, "registrationToken": TOKEN}
    file.touch(0o600)
    file.write_text(json.dumps({**told, "workspace": str(home)}))
    try:
        yield gateway
    finally:
        file.unlink()
        await server.stop(1.0)

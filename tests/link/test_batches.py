"""Messages that a server of 2025-03-26 sends together, over each transport."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from clawft.errors import LinkError, ProtocolFailure, RequestTimeout
from clawft.link.base import Link, OutgoingRequest
from clawft.link.http_out.link import HttpLink
from clawft.link.http_out.sse import SseLink
from clawft.link.patience import Patience
from clawft.link.process import Launch
from clawft.link.stream import StreamLink
from clawft.wire.jsonrpc import MAX_BATCH, Notification, Request, Response, unpacked
from tests.requirements import requirement
from tests.servers.web import Asked, Events, serve

pytestmark = requirement("WIRE-22")

PATIENCE_S = 20.0
SHORT_S = 3.0
CHILD = """
import json, sys
for line in sys.stdin:
    id = json.loads(line).get("id")
    if id is not None:
        news = {"jsonrpc": "2.0", "method": "notifications/x"}
        print(json.dumps([news, {"jsonrpc": "2.0", "id": id, "result": {}}, news]), flush=True)
"""


def together(id: Any) -> list[dict[str, Any]]:
    news = {"jsonrpc": "2.0", "method": "notifications/x"}
    return [news, {"jsonrpc": "2.0", "id": id, "result": {}}, news]


async def as_json(asked: Asked) -> web.StreamResponse:
    return web.json_response(together(asked.message["id"])) if "id" in asked.message else web.Response(status=202)


async def as_events(asked: Asked) -> web.StreamResponse:
    events = await asked.stream()
    await events.send(together(asked.message.get("id")))
    return events.response


class Old:
    """Of 2024 by its transport, of 2025-03-26 by what it says."""

    def __init__(self) -> None:
        self.events: Events | None = None
        self.end = asyncio.Event()

    async def respond(self, asked: Asked) -> web.StreamResponse:
        if asked.method == "GET":
            self.events = await asked.stream()
            await self.events.send("/messages", event="endpoint")
            await self.end.wait()
            return self.events.response
        if "id" in asked.message and self.events is not None:
            await self.events.send(together(asked.message["id"]))
        return web.Response(status=202)


@asynccontextmanager
async def linked(way: str, heard: list[str]) -> AsyncGenerator[Link]:
    def incoming(message: Request | Notification, stream: int | None) -> None:
        heard.append(message.method)

    lost: Callable[[LinkError], None] = lambda error: None  # noqa: E731 - nobody asks for it
    old = Old()
    respond = {"json": as_json, "events": as_events}.get(way, old.respond)
    async with asyncio.timeout(PATIENCE_S), serve(respond) as seen:
        makes: dict[str, Callable[[], Link]] = {
            "stdio": lambda: StreamLink(Launch(sys.executable, ("-c", CHILD), {}, ".")),
            "2024": lambda: SseLink(seen.url),
        }
        link = makes.get(way, lambda: HttpLink(seen.url))()
        await link.open(incoming, lost)
        try:
            yield link
        finally:
            await link.close()
            old.end.set()


@pytest.mark.parametrize("way", ["stdio", "json", "events", "2024"])
async def test_a_server_may_answer_and_tell_in_one(way: str) -> None:
    heard: list[str] = []
    async with linked(way, heard) as link:
        link.settled("2025-03-26")
        assert await link.request(OutgoingRequest("ping")) == Response(b"1", b"{}")
        assert heard == ["notifications/x"] * 2


@pytest.mark.parametrize("way", ["stdio", "json", "events", "2024"])
async def test_of_other_revisions_it_is_no_message(way: str) -> None:
    heard: list[str] = []
    async with linked(way, heard) as link:
        link.settled("2025-06-18")
        with pytest.raises((LinkError, ProtocolFailure)) as failed:
            await link.request(OutgoingRequest("ping"), Patience("ping", SHORT_S))
        assert not isinstance(failed.value, RequestTimeout)
        assert heard == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (b'[{"a":1},{"b":2}]', 2),
        (b'{"a":1}', 0),
        (b"[", 0),
        (b"[]", 0),
        (b"[" * 800 + b"]" * 800, 0),
        (b'[{"a":1},[{"b":2}]]', 0),
        (json.dumps([{}] * (MAX_BATCH + 1)).encode(), 0),
    ],
)
def test_what_is_sent_together(line: bytes, count: int) -> None:
    assert len(unpacked(line)) == count

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
from clawft.link.deadline import Deadline
from clawft.link.http_out.link import HttpLink
from clawft.link.http_out.sse import SseLink
from clawft.link.process import Launch
from clawft.link.stream import StreamLink
from clawft.wire.jsonrpc.batches import MAX_BATCH, unpacked, unread_answers
from clawft.wire.jsonrpc.messages import Notification, Request, Response
from tests.requirements import requirement
from tests.servers.web import Asked, Events, serve

pytestmark = requirement("WIRE-22")

PATIENCE_S = 20.0
SHORT_S = 3.0
MADE = """
def made(id, kind):
    news = {"jsonrpc": "2.0", "method": "notifications/x"}
    answer = {"jsonrpc": "2.0", "id": id, "result": {}}
    other = {"jsonrpc": "2.0", "id": 99_999, "result": {"of": "another"}}
    return {
        "ping": [news, answer, news],
        "with others": [other, answer, other],
        "twice": [answer, {**answer, "result": {"of": "later"}}],
        "with bad ones": [5, answer, None, {"jsonrpc": "2.0"}, "x"],
        "of many": [news] * 5000 + [answer],
        "nested": [[answer]],
    }[kind]
"""
"""What is sent in answer to a request, by its method; a child of its own has it, too."""
CHILD = f"""
import json, sys
{MADE}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps(made(asked["id"], asked["method"])), flush=True)
"""
WAYS = ["stdio", "json", "events", "2024"]


def together(asked: Asked) -> list[Any]:
    room: dict[str, Any] = {}
    exec(MADE, room)
    return room["made"](asked.message["id"], asked.about)


async def as_json(asked: Asked) -> web.StreamResponse:
    return web.json_response(together(asked)) if "id" in asked.message else web.Response(status=202)


async def as_events(asked: Asked) -> web.StreamResponse:
    if "id" not in asked.message:
        return web.Response(status=202)
    events = await asked.stream()
    await events.send(together(asked))
    if asked.about != "ping":
        await asyncio.sleep(2 * SHORT_S)  # a stream need not end with what it has told
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
            await self.events.send(together(asked))
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


@pytest.mark.parametrize("way", WAYS)
async def test_a_server_may_answer_and_tell_in_one(way: str) -> None:
    heard: list[str] = []
    async with linked(way, heard) as link:
        link.settled("2025-03-26")
        assert await link.request(OutgoingRequest("ping")) == Response(b"1", b"{}")
        assert heard == ["notifications/x"] * 2


@pytest.mark.parametrize("way", WAYS)
async def test_of_other_revisions_it_is_no_message(way: str) -> None:
    heard: list[str] = []
    async with linked(way, heard) as link:
        link.settled("2025-06-18")
        with pytest.raises((LinkError, ProtocolFailure)) as failed:
            await link.request(OutgoingRequest("ping"), Deadline("ping", SHORT_S))
        assert not isinstance(failed.value, RequestTimeout)
        assert heard == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["with others", "twice", "with bad ones"])
async def test_what_comes_along_costs_nobody_the_answer(way: str, kind: str) -> None:
    async with linked(way, []) as link:
        link.settled("2025-03-26")
        assert await link.request(OutgoingRequest(kind), Deadline(kind, SHORT_S)) == Response(b"1", b"{}")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["of many", "nested"])
async def test_an_answer_among_more_than_is_read_fails_at_once(way: str, kind: str) -> None:
    async with linked(way, []) as link:
        link.settled("2025-03-26")
        with pytest.raises((LinkError, ProtocolFailure), match="batch") as failed:
            await link.request(OutgoingRequest(kind), Deadline(kind, SHORT_S))
        assert not isinstance(failed.value, RequestTimeout)


@pytest.mark.parametrize(
    ("line", "may_be"),
    [
        (json.dumps([{"jsonrpc": "2.0", "id": 1, "result": {}}] * (MAX_BATCH + 1)).encode(), True),
        (json.dumps([{"jsonrpc": "2.0", "method": "notifications/x"}] * (MAX_BATCH + 1)).encode(), False),
        (b'[2026-11-17] {"jsonrpc": "2.0", "error": "a line of a log"}', False),
        (b'[{"level": "error", "error": "of a log"}', False),
    ],
)
def test_whether_answers_may_be_lost(line: bytes, may_be: bool) -> None:
    assert (unread_answers(line) != "") == may_be


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

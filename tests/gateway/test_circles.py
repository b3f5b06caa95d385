"""What is over is gone at once: nothing that anybody can open as often as they like waits for the collector."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from clawft.gateway.conversation import Conversation
from clawft.gateway.http.answer import HttpAnswer
from clawft.gateway.http.sessions import MAX_SESSIONS, Sessions
from clawft.gateway.http.streams import EventStream
from clawft.link import asgi
from clawft.model import Call, Caller, Reply
from tests.gateway.asgi_client import Http, http
from tests.gateway.support import Demo, echo, serving
from tests.gateway.test_changes import Notebook
from tests.gateway.test_http_sessions import TOKEN, busy
from tests.requirements import requirement


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive(kind: type) -> int:
    return sum(isinstance(each, kind) for each in gc.get_objects())


async def use(client: Http) -> None:
    session = await client.initialize()
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "demo__echo"}),
        ("tools/call", {"name": "demo__busy", **TOKEN}),
        ("tools/call", {"name": "nobody's"}),
        ("logging/setLevel", {"level": "debug"}),
        ("resources/read", {"uri": "no:where"}),
    ):
        await session.send(method, params).whole()
    await client.start("DELETE", headers=session.headers).whole()


@requirement("QUAL-12", "SHELL-19")
async def test_a_session_that_has_ended() -> None:
    before = alive(Conversation), alive(EventStream)
    async with http(serving(Demo().add("echo", echo).add("busy", busy))) as client:
        for _ in range(5):
            await use(client)
        assert (alive(Conversation), alive(EventStream)) == before


async def slow(call: Call) -> Reply:
    """So slow that somebody watches whether the caller leaves."""
    for _ in range(10):
        await asyncio.sleep(0)
    return Reply.text("done")


@requirement("QUAL-12", "SHELL-19")
async def test_a_session_whose_answer_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "WATCH_AFTER_SECONDS", 0.0)
    before = alive(Conversation)
    async with http(serving(Demo().add("slow", slow))) as client:
        session = await client.initialize()
        await session.send("tools/call", {"name": "demo__slow"}).whole()
        await client.start("DELETE", headers=session.headers).whole()
        assert alive(Conversation) == before


@requirement("QUAL-12", "SHELL-19")
async def test_sessions_that_gave_way_to_others() -> None:
    before = alive(Conversation)
    sessions = Sessions(serving(Demo()))
    for _ in range(MAX_SESSIONS + 50):
        sessions.open(Caller())
    assert alive(Conversation) == before + MAX_SESSIONS
    sessions.close()
    assert alive(Conversation) == before


@requirement("QUAL-12", "RES-06")
async def test_what_is_watched_keeps_nothing_of_the_request_for_it() -> None:
    """Which is a connection with all that came on it, and a thousand of them for one session."""
    notebook = Notebook()
    notebook.says.set()
    before = alive(HttpAnswer)
    async with http(serving(notebook)) as client:
        session = await client.initialize()
        for n in range(5):
            await session.send("resources/subscribe", {"uri": f"x://{n}"}).whole()
        assert len(notebook.ears) == 5
        assert alive(HttpAnswer) == before

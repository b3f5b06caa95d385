"""HTTP+SSE of 2024 as a client."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from clawft.errors import LinkClosed, LinkError, LinkRefused, MessageTooLong, ProtocolFailure, RequestTimeout
from clawft.link.base import OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.link.first_id import before_first_id
from clawft.link.http_out import sse
from clawft.link.http_out.sse import SseLink
from clawft.upstream.links import links_to
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.framing import DEFAULT_LIMIT
from clawft.wire.jsonrpc.messages import Failure, Response
from tests.requirements import requirement
from tests.servers.web import Asked, Events, Web, serve
from tests.upstream.support import until

PATIENCE_S = 20.0


class Old:
    """A server of 2024: one stream, answers arrive on it."""

    def __init__(self, endpoint: str = "/messages?session=1") -> None:
        self.endpoint = endpoint
        self.events: Events | None = None
        self.end = asyncio.Event()
        self.unanswered: dict[str, int] = {}

    async def say(self, message: dict[str, Any]) -> None:
        if self.events is not None:
            await self.events.send(message)

    async def respond(self, asked: Asked) -> web.StreamResponse:
        if asked.method == "GET" and asked.http.path == "/sse":
            self.events = await asked.stream()
            await self.events.send(self.endpoint, event="endpoint")
            await self.end.wait()
            return self.events.response
        if asked.http.path != "/messages":
            return web.Response(status=405)
        if "id" in asked.message and self.events is not None:
            await self._answer(asked, self.events)
        return web.Response(status=202, text="Accepted")

    async def _answer(self, asked: Asked, events: Events) -> None:
        results: dict[str, Any] = {
            "initialize": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}},
            "tools/list": {"tools": [{"name": "old", "inputSchema": {"type": "object"}}]},
            "ping": {},
        }
        if asked.about in results:
            await events.send({"jsonrpc": "2.0", "id": asked.message["id"], "result": results[asked.about]})
        else:
            self.unanswered[asked.about] = asked.message["id"]


@asynccontextmanager
async def linked(
    old: Old, limit: int = DEFAULT_LIMIT
) -> AsyncGenerator[tuple[SseLink, Web, asyncio.Future[LinkError]]]:
    async with asyncio.timeout(PATIENCE_S), serve(old.respond, "/sse") as seen:
        link = SseLink(seen.url, {"Authorization": "Bearer t"}, limit=limit)
        lost: asyncio.Future[LinkError] = asyncio.get_running_loop().create_future()
        try:
            await link.open(lambda message, stream: None, lost.set_result)
            yield link, seen, lost
        finally:
            await link.close()
            old.end.set()


@requirement("LINK-23")
async def test_messages_are_posted_where_the_server_says_and_answered_on_its_stream() -> None:
    async with linked(Old()) as (link, seen, _):
        assert await link.request(OutgoingRequest("ping")) == Response(b"1", b"{}")
        await link.notify("notifications/x")
        assert all(each.http.query_string == "session=1" for each in seen.asked if each.method == "POST")
        assert all(each.headers["Authorization"] == "Bearer t" for each in seen.asked)


@requirement("WIRE-08", "LINK-18", "LINK-23")
async def test_an_answer_above_the_limit_fails_nobody_but_the_one_who_asked() -> None:
    old = Old()
    async with linked(old, limit=1000) as (link, _, lost):
        long, other = asked_for(link, "long"), asked_for(link, "other")
        await until(lambda: len(old.unanswered) == 2)
        await old.say({"jsonrpc": "2.0", "id": old.unanswered["long"], "result": {"x": "x" * 2000}})
        with pytest.raises(MessageTooLong):
            await long
        await old.say({"jsonrpc": "2.0", "id": old.unanswered["other"], "result": {}})
        assert isinstance(await other, Response)
        assert not lost.done()


@requirement("WIRE-03", "LINK-23")
@pytest.mark.parametrize("members", [{}, {"result": {}, "error": {"code": 1, "message": "m"}}])
async def test_an_answer_that_is_none_ends_its_request_at_once(members: dict[str, Any]) -> None:
    old = Old()
    async with linked(old) as (link, _, _):
        asked = asked_for(link, "x")
        await until(lambda: "x" in old.unanswered)
        await old.say({"jsonrpc": "2.0", "id": old.unanswered["x"], **members})
        with pytest.raises(ProtocolFailure):
            await asked


def asked_for(link: SseLink, method: str) -> asyncio.Future[Response | Failure]:
    return asyncio.ensure_future(link.request(OutgoingRequest(method)))


@requirement("LINK-23", "LINK-15")
async def test_another_origin_gets_nothing_from_us() -> None:
    with pytest.raises(LinkClosed, match="another origin"):
        async with linked(Old("http://localhost:1/steal")):
            pass


@requirement("LINK-23")
async def test_the_end_of_the_stream_is_the_end_of_the_link() -> None:
    old = Old()
    async with linked(old) as (link, seen, lost):
        waiting = asyncio.ensure_future(link.request(OutgoingRequest("never")))
        await until(lambda: bool(seen.about("never")))
        old.end.set()
        with pytest.raises(LinkClosed, match="ended its stream"):
            await waiting
        assert isinstance(await lost, LinkClosed)


@requirement("LINK-23", "LINK-13")
async def test_an_error_without_an_id_on_the_stream_is_about_the_only_open_request() -> None:
    old = Old()
    unread = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "cannot read that"}}
    async with linked(old) as (link, _, _):
        waiting = asyncio.ensure_future(link.request(OutgoingRequest("never")))
        await until(lambda: "never" in old.unanswered)
        await old.say(unread)
        answer = await waiting
        assert isinstance(answer, Failure)
        assert answer.read().message == "cannot read that"
        assert link.faults.in_words() == {}
        several = [asyncio.ensure_future(link.request(OutgoingRequest(name))) for name in ("one", "other")]
        await until(lambda: old.unanswered.keys() >= {"one", "other"})
        await old.say(unread)
        await until(lambda: link.faults.in_words() == {"answers nobody waited for": 1})
        assert not any(each.done() for each in several)
        await old.say({"jsonrpc": "2.0", "id": old.unanswered["one"], "result": {}})
        await old.say({"jsonrpc": "2.0", "id": old.unanswered["other"], "result": {}})
        await asyncio.gather(*several)


@requirement("LINK-23", "SESS-13")
async def test_a_deadline_holds_and_is_told() -> None:
    async with linked(Old()) as (link, seen, _):
        with pytest.raises(RequestTimeout):
            await link.request(OutgoingRequest("never"), Deadline("never", 0.1))
        await until(lambda: bool(seen.about("notifications/cancelled")))


class Mute(Old):
    """Takes a message, answers on the stream, or ends it, and never answers the POST."""

    async def _answer(self, asked: Asked, events: Events) -> None:
        if asked.about == "end":
            self.end.set()
        else:
            await super()._answer(asked, events)
        await asked.closed.wait()


@pytest.mark.slow
@requirement("LINK-23")
async def test_an_answer_on_the_stream_counts_whatever_becomes_of_the_post(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "ASIDE_SECONDS", 3 * PATIENCE_S)  # the POSTs are still open at the end, and left so
    async with linked(Mute()) as (link, _, _):
        for number in (b"1", b"2", b"3"):
            assert await link.request(OutgoingRequest("ping")) == Response(number, b"{}")


@requirement("LINK-23")
async def test_the_end_of_the_stream_is_told_to_who_is_still_posting() -> None:
    async with linked(Mute()) as (link, _, lost):
        with pytest.raises(LinkClosed, match="ended its stream"):
            await link.request(OutgoingRequest("end"))
        assert isinstance(await lost, LinkClosed)


@requirement("LINK-23")
async def test_a_server_without_the_stream_is_refused() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return web.Response(status=404)

    async with serve(respond) as seen:
        link = SseLink(seen.url)
        with pytest.raises(LinkRefused):
            await link.open(lambda message, stream: None, lambda error: None)
        await link.close()


@requirement("LINK-23", "SESS-07")
async def test_the_old_transport_is_found_after_both_newer_forms_failed(tmp_path: Path) -> None:
    old = Old()
    async with asyncio.timeout(PATIENCE_S), serve(old.respond, "/sse") as seen:
        pool = Pool(tmp_path, links_to, [])
        done = await pool.connect(UpstreamSpec("old", url=seen.url))
        assert done.errors == {}
        assert (pool.server_status("old").revision, pool.server_status("old").tools) == ("2024-11-05", ("old",))
        assert [each.about for each in seen.asked][:3] == ["server/discover", "initialize", "GET"]
        await pool.close()
        old.end.set()


class InPlace(Old):
    """Answers where it is asked, in this way, and not on its stream."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self._way = way

    async def respond(self, asked: Asked) -> web.StreamResponse:
        if asked.method == "GET" or "id" not in asked.message:
            return await super().respond(asked)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked.message["id"], "result": {}}
        if self._way == "events":
            events = await asked.stream()
            await events.send(answer)
            await asyncio.sleep(SHORT_S)
            return events.response
        if self._way == "nod":
            asyncio.get_running_loop().call_later(0.1, asyncio.ensure_future, self.say(answer))
        bodies: dict[str, Any] = {
            "no id": {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}},
            "nod": {"ok": True},
            "other": {"jsonrpc": "2.0", "id": 99_999, "result": {}},
        }
        if self._way == "page":
            return web.Response(text="<html>log in</html>", content_type="text/html")
        if self._way == "broken":
            return web.Response(text=json.dumps({**answer, "result": float("nan")}))
        status = 202 if self._way == "taken" else 200
        return web.json_response(bodies.get(self._way, answer), status=status)


SHORT_S = 3.0


@pytest.mark.parametrize("way", ["json", "taken", "events", "nod"])
async def test_an_answer_to_the_post_counts(way: str) -> None:
    async with linked(InPlace(way)) as (link, _, _):
        assert await link.request(OutgoingRequest("ping"), Deadline("ping", SHORT_S)) == Response(b"1", b"{}")


@pytest.mark.parametrize(("way", "told"), [("page", "a web page"), ("broken", "not a message")])
async def test_a_post_that_is_answered_with_nonsense_fails_at_once(way: str, told: str) -> None:
    async with linked(InPlace(way)) as (link, _, _):
        with pytest.raises(LinkClosed, match=told):
            await link.request(OutgoingRequest("ping"), Deadline("ping", SHORT_S))


async def test_an_error_without_an_id_is_about_what_was_posted() -> None:
    async with linked(InPlace("no id")) as (link, _, _):
        answer = await link.request(OutgoingRequest("ping"), Deadline("ping", SHORT_S))
        assert isinstance(answer, Failure)


async def test_the_answer_to_another_request_is_not_that_of_this() -> None:
    async with linked(InPlace("other")) as (link, _, _):
        with pytest.raises(RequestTimeout):
            await link.request(OutgoingRequest("ping"), Deadline("ping", 0.3))


class Shared(Old):
    """All connections have one stream here: an answer goes to whoever came last."""

    async def answer_late(self, method: str) -> None:
        await self.say({"jsonrpc": "2.0", "id": self.unanswered[method], "result": {"to": method}})


async def test_what_a_connection_before_this_had_asked_for_is_nobodys_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "before_first_id", before_first_id)
    old = Shared()
    async with asyncio.timeout(PATIENCE_S), serve(old.respond, "/sse") as seen, asyncio.TaskGroup() as tasks:
        for method in ("slow/before", "slow/now"):
            link = SseLink(seen.url)
            await link.open(lambda message, stream: None, lambda error: None)
            asked = tasks.create_task(link.request(OutgoingRequest(method)))
            await until(lambda now=method: now in old.unanswered)
            if method == "slow/before":
                asked.cancel()
                await link.close()
        await old.answer_late("slow/before")
        await old.answer_late("slow/now")
        assert isinstance(answer := await asked, Response)
        assert answer.result == b'{"to": "slow/now"}'
        await link.close()
        old.end.set()

"""Streamable HTTP as a client, against a server that does as it is told."""

import asyncio
import codecs
import gc
import gzip
import json
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from clawft.errors import LinkClosed, LinkError, LinkRefused, MessageTooLong, NeedsAuth, RequestTimeout, SessionLost
from clawft.link.base import OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.link.http_out.answer import refusal
from clawft.link.http_out.link import MAX_RESUMES, HttpLink
from clawft.upstream.links import links_to
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response
from tests.nesting import TOO_DEEP, nested
from tests.requirements import requirement
from tests.servers import raw_site
from tests.servers.web import Asked, Respond, Web, serve
from tests.upstream.support import until

PATIENCE_S = 20.0
PING = OutgoingRequest("ping")
HELLO = OutgoingRequest("initialize", b"{}")


class Listener:
    def __init__(self) -> None:
        self.received: list[tuple[str, int | None]] = []
        self.news = asyncio.Event()
        self.lost: list[LinkError] = []

    def incoming(self, message: Request | Notification, stream: int | None) -> None:
        self.received.append((message.method, stream))
        self.news.set()


@asynccontextmanager
async def linked(respond: Respond, **options: Any) -> AsyncGenerator[tuple[HttpLink, Web, Listener]]:
    async with asyncio.timeout(PATIENCE_S), serve(respond) as seen:
        link, listener = HttpLink(seen.url, **options), Listener()
        await link.open(listener.incoming, listener.lost.append)
        try:
            yield link, seen, listener
        finally:
            await link.close()


async def plain(asked: Asked) -> web.StreamResponse:
    """A server with sessions and JSON answers."""
    if asked.method != "POST":
        return web.Response(status=405)
    if asked.about == "initialize":
        return asked.result({"hello": True}, **{"Mcp-Session-Id": "s-1"})
    return asked.result({"n": 1}) if "id" in asked.message else web.Response(status=202)


@requirement("LINK-12", "S2-P3-01", "LINK-15", "S2-P3-04", "LINK-20")
async def test_a_json_answer_and_the_headers_that_go_with_every_request() -> None:
    async with linked(plain, headers={"Authorization": "Bearer t", "accept": "text/html"}) as (link, seen, _):
        assert await link.request(PING) == Response(b"1", b'{"n": 1}')
        await link.notify("notifications/x")
    for each in seen.asked:
        assert each.headers.getall("Accept") == ["application/json, text/event-stream"]
        assert each.headers["Content-Type"] == "application/json"
        assert each.headers["Authorization"] == "Bearer t"
        assert "Mcp-Session-Id" not in each.headers


@requirement("LINK-14", "S2-P3-03")
async def test_the_session_is_adopted_from_initialize_sent_on_and_ended() -> None:
    async with linked(plain) as (link, seen, _):
        await link.request(HELLO)
        link.settled("2025-06-18")
        await link.notify("notifications/initialized")
        await link.request(PING)
        await link.close()
    later = [each for each in seen.asked if each.about != "initialize"]
    assert {each.headers["Mcp-Session-Id"] for each in later} == {"s-1"}
    assert {each.headers["MCP-Protocol-Version"] for each in later} == {"2025-06-18"}
    assert seen.asked[-1].method == "DELETE"
    assert "MCP-Protocol-Version" not in seen.asked[0].headers


@requirement("LINK-14")
async def test_a_session_id_on_anything_but_a_good_initialize_is_not_ours() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        answer = asked.error(-32603, "no") if asked.about == "initialize" else asked.result({})
        answer.headers["Mcp-Session-Id"] = "trap"
        return answer

    async with linked(respond) as (link, seen, _):
        assert isinstance(await link.request(HELLO), Failure)
        await link.request(PING)
        await link.request(PING)
    assert not any("Mcp-Session-Id" in each.headers for each in seen.asked)


@requirement("LINK-21")
async def test_a_stateless_request_says_itself_again_in_headers_and_knows_no_session() -> None:
    async with linked(plain) as (link, seen, _):
        await link.request(HELLO)
        mirrored = (("Mcp-Param-Region", "eu"),)
        await link.request(OutgoingRequest("tools/call", b"{}", "2026-07-28", "grüße", mirrored))
    sent = seen.asked[1].headers
    assert (sent["MCP-Protocol-Version"], sent["Mcp-Method"]) == ("2026-07-28", "tools/call")
    assert (sent["Mcp-Name"], sent["Mcp-Param-Region"]) == ("=?base64?Z3LDvMOfZQ==?=", "eu")
    assert "Mcp-Session-Id" not in sent


@requirement("LINK-13", "S2-P3-02")
async def test_an_event_stream_is_read_to_our_answer_and_the_rest_is_handed_on() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        events = await asked.stream()
        await events.send("no json at all")
        await events.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
        await events.send({"jsonrpc": "2.0", "id": 9, "method": "roots/list"})
        await events.send({"jsonrpc": "2.0", "id": 99, "result": {"not": "ours"}})
        await events.send({"jsonrpc": "2.0", "id": asked.message["id"], "result": {"ours": 1}})
        await asyncio.Event().wait()  # the client leaves by itself
        return events.response

    async with linked(respond) as (link, seen, listener):
        assert await link.request(PING) == Response(b"1", b'{"ours": 1}')
        assert listener.received == [("notifications/progress", 1), ("roots/list", 1)]
        await seen.asked[0].closed.wait()


@requirement("LINK-26")
async def test_challenges_in_lines_of_their_own_are_all_heard() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        response = web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="staff"'})
        response.headers.add("WWW-Authenticate", 'Bearer resource_metadata="x"')
        return response

    async with linked(respond) as (link, *_):
        with pytest.raises(NeedsAuth) as raised:
            await link.request(PING)
    assert raised.value.challenge == 'Basic realm="staff", Bearer resource_metadata="x"'


@requirement("LINK-16")
async def test_a_header_that_is_refused_is_told_apart_from_none() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return web.Response(status=401)

    async with serve(respond) as seen:
        for headers, said, hint in (
            ({}, "needs a login", "give it a token in `headers`"),
            ({"authorization": "Bearer old"}, "rejects the Authorization header", "weft auth login crm"),
        ):
            link = HttpLink(seen.url, headers, name="crm")
            await link.open(lambda message, stream: None, lambda error: None)
            with pytest.raises(NeedsAuth, match=said) as raised:
                await link.request(PING)
            assert raised.value.hint.endswith(hint)
            assert raised.value.passing is not bool(headers), "who was sent a wrong one is not asked again"
            await link.close()


@requirement("LINK-16", "S2-P3-05")
@pytest.mark.parametrize(
    ("status", "error"),
    [(401, NeedsAuth), (403, LinkRefused), (404, LinkRefused), (500, LinkRefused), (302, LinkRefused)],
)
async def test_what_a_status_means(status: int, error: type[LinkError]) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        headers = {"WWW-Authenticate": 'Bearer resource_metadata="x"', "Location": "http://other.example/"}
        return web.Response(status=status, text="a long story" * 100, headers=headers)

    async with linked(respond) as (link, seen, listener):
        with pytest.raises(error) as raised:
            await link.request(PING)
        assert len(str(raised.value)) < 500
        assert len(seen.asked) == 1
        if isinstance(raised.value, NeedsAuth):
            assert raised.value.challenge.startswith("Bearer")
            assert listener.lost == [raised.value]
        if isinstance(raised.value, LinkRefused):
            assert raised.value.http_status == status


@requirement("LINK-16")
async def test_an_error_status_with_an_answer_in_it_is_that_answer() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        asked.message["id"] = None
        return asked.error(-32000, "Server not initialized", 400)

    async with linked(respond) as (link, _, _):
        answer = await link.request(PING)
        assert isinstance(answer, Failure)
        assert answer.read().error_code == -32000


@requirement("LINK-13", "LINK-16")
async def test_an_error_without_an_id_in_a_stream_is_the_answer_to_its_request() -> None:
    """It was not read as far as its id, and no other request has this stream; a result has to say whose it is."""

    async def respond(asked: Asked) -> web.StreamResponse:
        events = await asked.stream()
        await events.send({"jsonrpc": "2.0", "id": None, "result": {"n": 1}})
        await events.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "what?"}})
        return events.response

    async with linked(respond) as (link, _, _):
        answer = await link.request(PING)
        assert isinstance(answer, Failure)
        assert answer.read().message == "what?"


@requirement("LINK-16", "SESS-23")
async def test_a_forgotten_session_is_lost_once_and_not_said_goodbye_to() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return await plain(asked) if asked.about == "initialize" else web.Response(status=404)

    async with linked(respond) as (link, seen, listener):
        await link.request(HELLO)
        for _ in range(2):
            with pytest.raises(SessionLost):
                await link.request(PING)
        assert len(listener.lost) == 1
        await link.close()
        assert seen.about("DELETE") == []


@requirement("LINK-17", "S2-P3-06", "SESS-14")
async def test_cancelling_closes_the_stream_at_once() -> None:
    started = asyncio.Event()

    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about == "ping":
            await asked.stream()
            started.set()
            await asyncio.Event().wait()
        return web.Response(status=202)

    async with linked(respond) as (link, seen, _):
        for outgoing in (OutgoingRequest("ping", b"", "2026-07-28"), PING):
            started.clear()
            waiting = asyncio.ensure_future(link.request(outgoing))
            await started.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await seen.about("ping")[-1].closed.wait()
    cancels = [each.message["params"] for each in seen.about("notifications/cancelled")]
    assert cancels in ([], [{"requestId": 2}])  # stateless: closing says it all; the other may be cut off by our end


@requirement("SESS-13")
async def test_a_deadline_ends_a_request_and_the_server_is_told() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if "id" in asked.message:
            await asyncio.Event().wait()
        return web.Response(status=202)

    async with linked(respond) as (link, seen, _):
        with pytest.raises(RequestTimeout, match="100 ms"):
            await link.request(PING, Deadline("ping", 0.1))
        await until(lambda: bool(seen.about("notifications/cancelled")))


@requirement("LINK-18", "S2-P3-07")
@pytest.mark.parametrize("streamed", [False, True])
async def test_large_answers_pass_up_to_the_bound(streamed: bool) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        result = {"text": "x" * asked.message["params"]["size"]}
        if not streamed:
            return asked.result(result)
        events = await asked.stream()
        await events.send({"jsonrpc": "2.0", "id": asked.message["id"], "result": result})
        return events.response

    async with linked(respond, limit=3_000_000) as (link, _, _):
        answer = await link.request(OutgoingRequest("x", b'{"size":2000000}'))
        assert isinstance(answer, Response)
        assert len(answer.result) > 2_000_000
        with pytest.raises(MessageTooLong):
            await link.request(OutgoingRequest("x", b'{"size":4000000}'))


@requirement("LINK-19", "T-2.4")
async def test_a_notice_that_is_refused_is_logged_not_raised(caplog: pytest.LogCaptureFixture) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return web.Response(status=500)

    async with linked(respond) as (link, _, _):
        await link.notify("notifications/x")
    assert "status 500" in caplog.text


@requirement("LINK-19")
async def test_a_notification_that_is_not_taken_in_time_is_told_with_the_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def never(asked: Asked) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr("clawft.link.http_out.link.ASIDE_SECONDS", 0.05)
    async with linked(never) as (link, seen, _):
        await link.notify("notifications/x")
        assert f"{seen.url} did not accept a notification within 0.05 s" in caplog.text


@requirement("LINK-19")
async def test_a_notice_that_is_refused_is_shown_in_the_status_of_the_server(tmp_path: Path) -> None:
    hello: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    results: dict[str, Any] = {"initialize": hello, "tools/list": {"tools": []}}

    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about not in results:
            return web.Response(status=500 if asked.about.startswith("notifications/") else 404)
        return web.json_response({"jsonrpc": "2.0", "id": asked.message["id"], "result": results[asked.about]})

    async with serve(respond) as seen:
        pool = Pool(tmp_path, links_to, [])
        assert (await pool.connect(UpstreamSpec("a", url=seen.url))).errors == {}
        status = pool.server_status("a")
        assert (status.status, "notification with status 500" in status.error) == ("connected", True)
        await pool.close()


@requirement("LINK-22")
async def test_a_stream_that_sends_us_away_is_resumed_where_it_was() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        events = await asked.stream()
        if asked.method == "POST":
            await events.send("", id="e1", retry=20)
        elif asked.headers["Last-Event-ID"] == "e1":
            await events.send("", id="e2")
        else:
            await events.send({"jsonrpc": "2.0", "id": 1, "result": {"at": "last"}}, id="e3")
        return events.response

    async with linked(respond) as (link, seen, _):
        assert await link.request(PING) == Response(b"1", b'{"at": "last"}')
        assert [each.headers.get("Last-Event-ID") for each in seen.asked] == [None, "e1", "e2"]


@requirement("LINK-22")
@pytest.mark.parametrize("id", ["e", "e{n}", None], ids=["same", "new", "none"])
async def test_a_server_that_only_ever_sends_us_away_is_left_after_ten_times(id: str | None) -> None:
    """The attack: each time a place to come back to, and nothing else."""
    resumed = 0

    async def respond(asked: Asked) -> web.StreamResponse:
        nonlocal resumed
        events = await asked.stream()
        if asked.method == "POST":
            await events.send("", id="e0", retry=0)
        else:
            resumed += 1
            if id:
                await events.send("", id=id.format(n=resumed), retry=0)
        return events.response

    async with linked(respond) as (link, _, _):
        with pytest.raises(LinkClosed, match="10 times in a row it had nothing new"):
            await asyncio.wait_for(link.request(PING), 30)
        assert resumed == MAX_RESUMES


@requirement("LINK-22")
async def test_a_stream_that_brings_something_each_time_is_resumed_as_often_as_it_wants() -> None:
    times = MAX_RESUMES + 5

    async def respond(asked: Asked) -> web.StreamResponse:
        events = await asked.stream()
        place = int(asked.headers.get("Last-Event-ID", "0"))
        news: Any = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": place}}
        if place == times:
            news = {"jsonrpc": "2.0", "id": 1, "result": {}}
        await events.send(news, id=str(place + 1), retry=0)
        return events.response

    async with linked(respond) as (link, seen, _):
        assert await asyncio.wait_for(link.request(PING), 30) == Response(b"1", b"{}")
        assert len(seen.asked) == times + 1


@requirement("LINK-22")
async def test_a_stateless_stream_that_ends_early_is_not_resumed() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        events = await asked.stream()
        await events.send("", id="e1", retry=1)
        return events.response

    async with linked(respond) as (link, seen, _):
        with pytest.raises(LinkClosed, match="without a response"):
            await link.request(OutgoingRequest("ping", b"", "2026-07-28"))
        assert len(seen.asked) == 1


@requirement("MGR-19", "QUAL-03")
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"jsonrpc": "2.0", "id": 99, "result": {}}, {"answers nobody waited for": 1}),
        ({"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "x"}}, {"answers nobody waited for": 1}),
        ({"jsonrpc": "2.0", "id": 1}, {"messages that cannot be read": 1}),
    ],
)
async def test_a_single_answer_that_is_none_of_ours_is_counted(body: Any, told: dict[str, int]) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return web.json_response(body)

    async with linked(respond) as (link, _, _):
        with pytest.raises(LinkClosed):
            await link.request(PING)
        assert link.faults.in_words() == told


@requirement("MGR-19")
async def test_an_event_that_is_no_message_is_told_under_the_name_of_its_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        sent = await asked.stream()
        await sent.send("nonsense")
        await sent.send({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}})
        return sent.response

    async with linked(respond, name="wiki") as (link, _, _):
        await link.request(PING)
    assert "wiki sent an event that is not a message" in caplog.text


@requirement("WIRE-08")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("most", "fine"), [(16 * 1024 * 1024, True), (64 * 1024, False)])
async def test_a_message_above_the_bound_of_its_server_names_the_key(
    streamed: bool, most: int, fine: bool, tmp_path: Path
) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.method != "POST" or asked.about == "server/discover":
            return web.Response(status=405)
        if asked.about == "initialize":
            return asked.result({"protocolVersion": "2025-11-25", "capabilities": {}})
        result: dict[str, Any] = {"tools": [], "x": "x" * 100_000 * (asked.about == "ping")}
        if not streamed:
            return asked.result(result)
        events = await asked.stream()
        await events.send({"jsonrpc": "2.0", "id": asked.message.get("id"), "result": result})
        return events.response

    async with asyncio.timeout(PATIENCE_S), serve(respond) as site:
        pool = Pool(tmp_path, links_to, [])
        await pool.connect(UpstreamSpec("a", url=site.url, max_message=most))
        session = pool.find("a").session
        assert session is not None
        asking = asyncio.ensure_future(session.request("ping"))
        await asyncio.wait({asking})
        await pool.close()
    error = str(asking.exception() or "")
    told = "sent a message longer than 65536 bytes (max_message in the entry of this server raises that)"
    assert (error == "") is fine
    assert fine or error.endswith(told)


@requirement("QUAL-03", "WIRE-21")
@pytest.mark.parametrize("streamed", [False, True])
async def test_only_of_a_list_that_is_asked_for_a_part_is_taken(streamed: bool) -> None:
    """Of anything else a part would be another answer."""
    body = '{"jsonrpc":"2.0","id":%d,"result":{"tools":[' + nested(TOO_DEEP) + "]}}"

    async def respond(asked: Asked) -> web.StreamResponse:
        message = body % asked.message["id"]
        text, kind = (f"data: {message}\n\n", "text/event-stream") if streamed else (message, "application/json")
        return web.Response(text=text, content_type=kind)

    async with linked(respond) as (link, _, _):
        with pytest.raises(LinkClosed, match="nested too deeply"):
            await link.request(OutgoingRequest("tools/call"))
        answer = await link.request(OutgoingRequest("tools/list"))
        assert answer == Response(b"2", b'{"tools":["it is nested too deeply"]}')


@requirement("MGR-19", "LINK-22")
async def test_streams_that_end_at_once_are_counted() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return await plain(asked) if asked.method != "GET" else (await asked.stream()).response

    async with linked(respond) as (link, _, _):
        await link.request(HELLO)
        await link.notify("notifications/initialized")
        await until(lambda: link.faults.broken == 1)
        assert link.faults.in_words() == {"streams of news that ended at once": 1}


@pytest.mark.slow
@requirement("LINK-22", "SESS-22")
async def test_the_stream_for_unasked_messages_is_held_and_taken_up_again() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.method != "GET":
            return await plain(asked)
        events = await asked.stream()
        await events.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, id="g1", retry=10)
        if "Last-Event-ID" in asked.headers:
            await asyncio.Event().wait()
        return events.response

    async with linked(respond) as (link, seen, listener):
        await link.request(HELLO)
        await link.notify("notifications/initialized")
        while len(listener.received) < 2:
            listener.news.clear()
            await listener.news.wait()
        assert listener.received[0] == ("notifications/tools/list_changed", None)
        assert [each.headers.get("Last-Event-ID") for each in seen.about("GET")] == [None, "g1"]


@requirement("SESS-19", "LINK-08")
async def test_closing_fails_what_is_in_flight_and_twice_is_once() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        await asyncio.Event().wait()
        return web.Response()

    async with linked(respond) as (link, seen, _):
        waiting = asyncio.ensure_future(link.request(PING))
        await until(lambda: bool(seen.asked))
        await link.close()
        with pytest.raises(LinkError):
            await waiting
        await link.close()
        with pytest.raises(LinkClosed):
            await link.request(PING)


@requirement("SESS-19", "LINK-08")
async def test_closing_fails_an_answer_that_has_begun() -> None:
    """Its head is here and its end is not: aiohttp closes the connection and leaves whoever reads waiting for ever."""

    async def respond(asked: Asked) -> web.StreamResponse:
        events = await asked.stream()
        await events.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
        await asyncio.Event().wait()
        return events.response

    async with linked(respond) as (link, _, listener):
        waiting = asyncio.ensure_future(link.request(PING))
        await until(lambda: bool(listener.received))
        await link.close()
        with pytest.raises(LinkError, match="closed"):
            await waiting


@requirement("SESS-19", "LINK-16")
async def test_closing_fails_a_request_that_was_told_to_come_back_later() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        events = await asked.stream()
        notice = {"jsonrpc": "2.0", "method": "notifications/progress"}
        await events.send(notice, id="e1", retry=int(2_000 * PATIENCE_S))
        return events.response

    async with linked(respond) as (link, _, listener):
        waiting = asyncio.ensure_future(link.request(PING))
        await until(lambda: bool(listener.received))
        await link.close()
        with pytest.raises(LinkClosed, match="closed"):
            await waiting


@requirement("LINK-20")
async def test_nobody_there_is_an_error_and_not_retried() -> None:
    link = HttpLink("http://127.0.0.1:9/mcp")
    await link.open(lambda message, stream: None, lambda error: None)
    with pytest.raises(LinkClosed, match=r"^http://127\.0\.0\.1:9/mcp cannot be reached: Connection refused$"):
        await link.request(PING)
    await link.close()


@requirement("LINK-20")
@pytest.mark.filterwarnings("ignore:Unclosed:ResourceWarning")
async def test_a_link_whose_closing_is_cut_short_is_closed_all_the_same() -> None:
    """A gateway that cannot listen ends while its servers are being given up, and said so about each of them."""
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["message"]))
    for steps in range(4):
        link = HttpLink("http://127.0.0.1:9/mcp")
        await link.open(lambda message, stream: None, lambda error: None)
        closing = asyncio.create_task(link.close())
        for _ in range(steps):
            await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        if not steps:  # it had not begun
            await link.close()
        del link, closing
        gc.collect()
    assert told == []


@requirement("SESS-15")
async def test_many_requests_at_once_each_get_their_own_answer() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        await asyncio.sleep(asked.message["id"] % 7 / 100)
        return asked.result({"was": asked.message["id"]})

    async with linked(respond) as (link, _, _):
        answers = await asyncio.gather(*(link.request(PING) for _ in range(60)))
        for each in answers:
            assert isinstance(each, Response)
            assert json.loads(each.result) == {"was": int(each.id)}


@requirement("LINK-20")
def test_a_page_for_people_is_not_shown_as_the_reason() -> None:
    page = refusal("http://x/", 404, b"\n<!DOCTYPE html><title>Not found</title>")
    assert page.message == "http://x/ answered with status 404: a web page, not a message"
    assert "/mcp" in page.hint
    assert refusal("http://x/", 429, b"<html>").hint == "it was asked too often: try again later"
    assert "`headers`" in refusal("http://x/", 403, b"<html>").hint
    assert refusal("http://x/", 500, b"out\n of  order").message == "http://x/ answered with status 500: out of order"
    assert refusal("http://x/", 410, b"").message == "http://x/ answered with status 410"


async def opened(link: HttpLink) -> None:
    await link.request(OutgoingRequest("initialize"))
    link.settled("2025-06-18")
    await link.notify("notifications/initialized")


@pytest.mark.parametrize(
    ("code", "is_lost"), [(-32601, False), (-32002, False), (-32602, False), (-32001, True), (-32600, True)]
)
async def test_a_method_resource_or_tool_that_is_not_found_is_no_lost_session(code: int, is_lost: bool) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return asked.error(code, "not found", 404) if asked.about == "ping" else await plain(asked)

    async with linked(respond) as (link, _, listener):
        await opened(link)
        if is_lost:
            with pytest.raises(SessionLost):
                await link.request(PING)
        else:
            assert isinstance(await link.request(PING), Failure)
        assert bool(listener.lost) == is_lost


LOST_IN_OTHER_WORDS = {
    "as the examples of the TypeScript SDK": (None, -32000, "Bad Request: No valid session ID provided"),
    "as the Python SDK": ("server-error", -32600, "Bad Request: Missing session ID"),
    "without a word of sessions": (None, -32000, "Bad Request: Server not initialized"),
}


@requirement("LINK-16", "SESS-23")
@pytest.mark.parametrize(("id", "code", "words"), LOST_IN_OTHER_WORDS.values(), ids=list(LOST_IN_OTHER_WORDS))
async def test_a_session_that_is_refused_with_400_is_lost(id: str | None, code: int, words: str) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about != "ping":
            return await plain(asked)
        asked.message["id"] = id
        return asked.error(code, words, 400)

    async with linked(respond) as (link, _, listener):
        await opened(link)
        with pytest.raises(SessionLost):
            await link.request(PING)
        assert len(listener.lost) == 1


@requirement("LINK-16", "SESS-23")
async def test_a_session_that_is_refused_with_400_and_words_alone_is_lost() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return web.Response(status=400, text="Invalid session ID") if asked.about == "ping" else await plain(asked)

    async with linked(respond) as (link, _, _):
        await opened(link)
        with pytest.raises(SessionLost):
            await link.request(PING)


@pytest.mark.parametrize(("own", "code"), [(True, -32000), (False, -32700)])
async def test_a_request_that_is_refused_with_400_is_no_lost_session(own: bool, code: int) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about != "ping":
            return await plain(asked)
        asked.message["id"] = asked.message["id"] if own else None
        return asked.error(code, "what is this?", 400)

    async with linked(respond) as (link, _, listener):
        await opened(link)
        assert isinstance(await link.request(PING), Failure)
        assert listener.lost == []


@requirement("LINK-16", "SESS-23")
@pytest.mark.parametrize(
    ("id", "code"),
    [(None, -32602), ("server-error", -32000), ("server-error", -32600)],
    ids=["null", "made up", "same"],
)
async def test_words_of_sessions_are_no_lost_session_while_it_takes_a_ping(id: str | None, code: int) -> None:
    """One caller's bad argument would take the server from all others."""

    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about != "tools/call":
            return await plain(asked)
        asked.message["id"] = id
        return asked.error(code, "session_name must not be empty", 400)

    async with linked(respond) as (link, seen, listener):
        await opened(link)
        answer = await link.request(OutgoingRequest("tools/call", b"{}"))
        assert isinstance(answer, Failure)
        assert (answer.read().error_code, answer.read().message) == (code, "session_name must not be empty")
        assert len(seen.about("ping")) == 1
        assert listener.lost == []


@requirement("LINK-16", "SESS-23")
async def test_nor_are_they_without_json() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about != "tools/call":
            return await plain(asked)
        return web.Response(status=400, text="session_name must not be empty")

    async with linked(respond) as (link, _, listener):
        await opened(link)
        with pytest.raises(LinkRefused, match="status 400: session_name must not be empty"):
            await link.request(OutgoingRequest("tools/call", b"{}"))
        assert listener.lost == []


@requirement("SESS-07", "LINK-16")
@pytest.mark.parametrize("status", [400, 404, 406])
async def test_an_error_status_makes_an_error_the_answer_whatever_id_it_has(status: int) -> None:
    """The Python SDK 1 calls it `server-error`: without it nobody would find out that it is of the handshake era."""

    async def respond(asked: Asked) -> web.StreamResponse:
        asked.message["id"] = "server-error"
        return asked.error(-32600, "Bad Request: Missing session ID", status)

    async with linked(respond) as (link, _, listener):
        answer = await link.request(OutgoingRequest("server/discover", b"{}"))
        assert isinstance(answer, Failure)
        assert answer.read().message == "Bad Request: Missing session ID"
        assert listener.lost == []


async def test_a_stream_that_is_not_found_is_no_lost_session() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return web.Response(status=404, text="Cannot GET /mcp") if asked.method == "GET" else await plain(asked)

    async with linked(respond) as (link, seen, listener):
        await opened(link)
        assert isinstance(await link.request(PING), Response)
        assert len(seen.about("GET")) == 1
        assert listener.lost == []


@pytest.mark.parametrize(("status", "words"), [(404, ""), (400, "Invalid or missing session ID")])
async def test_a_stream_that_is_no_longer_found_is_a_lost_session(status: int, words: str) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.method != "GET":
            return await plain(asked)
        return web.Response(status=status, text=words) if "Last-Event-ID" in asked.headers else await one_event(asked)

    async def one_event(asked: Asked) -> web.StreamResponse:
        events = await asked.stream()
        await events.send({"jsonrpc": "2.0", "method": "notifications/x"}, id="1", retry=1)
        return events.response

    async with linked(respond) as (link, _, listener):
        await opened(link)
        await until(lambda: listener.lost != [])
        assert isinstance(listener.lost[0], SessionLost)


async def test_an_answer_on_a_stream_that_cannot_be_read_fails_at_once() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        events = await asked.stream()
        await events.send('{"jsonrpc":"2.0","id":%d,"result":NaN}' % asked.message["id"])  # noqa: UP031 - braces
        await asyncio.sleep(PATIENCE_S)
        return events.response

    async with linked(respond) as (link, _, _):
        with pytest.raises(LinkClosed, match="an answer that is not a message"):
            await link.request(PING, Deadline("ping", 3.0))


async def test_a_page_in_place_of_an_answer_is_called_one() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        return web.Response(text="<html>log in</html>", content_type="text/html")

    async with linked(respond) as (link, _, _):
        with pytest.raises(LinkClosed, match="answered with a web page, not a message"):
            await link.request(PING)


# ── bodies as servers send them ──────────────────────────────────────────────────────────────────────────────────────


ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"n":1}}'


def sent(body: bytes, packed: str = "") -> Respond:
    async def respond(asked: Asked) -> web.StreamResponse:
        headers = {"Content-Type": "application/json", **({"Content-Encoding": packed} if packed else {})}
        return web.Response(body=body, headers=headers)

    return respond


@requirement("LINK-12")
@pytest.mark.parametrize(
    ("body", "packed"),
    [(codecs.BOM_UTF8 + ANSWER, ""), (gzip.compress(ANSWER), "x-gzip")],
    ids=["byte order mark", "x-gzip"],
)
async def test_a_body_with_a_mark_or_packed_by_an_old_name_is_read(body: bytes, packed: str) -> None:
    async with linked(sent(body, packed)) as (link, *_):
        answer = await link.request(PING)
        assert isinstance(answer, Response)


@requirement("LINK-12")
@pytest.mark.parametrize(
    ("body", "error"), [(gzip.compress(bytes(100_000)), MessageTooLong), (b"not packed", LinkClosed)]
)
async def test_what_is_packed_by_an_old_name_is_bounded_as_all_else(body: bytes, error: type[LinkError]) -> None:
    async with linked(sent(body, "x-gzip"), limit=10_000) as (link, *_):
        with pytest.raises(error):
            await link.request(PING)


ACCEPTED_ENCODINGS = zlib.MAX_WBITS | 16


def streamed(*data: bytes) -> Respond:
    """Events on a stream that is packed by the old name of gzip, and goes on after them."""

    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about != "ping":
            return web.Response(status=202)
        stream = await asked.stream(**{"Content-Encoding": "x-gzip"})
        packing = zlib.compressobj(wbits=ACCEPTED_ENCODINGS)
        for each in data:
            await stream.response.write(packing.compress(b"data: " + each + b"\n\n"))
            await stream.response.write(packing.flush(zlib.Z_SYNC_FLUSH))
        await asyncio.Event().wait()
        return stream.response

    return respond


@requirement("LINK-13")
async def test_an_event_stream_that_is_packed_by_an_old_name_is_read_as_it_comes() -> None:
    notice = b'{"jsonrpc":"2.0","method":"notifications/message"}'
    async with linked(streamed(notice, ANSWER)) as (link, _, listener):
        assert isinstance(await link.request(PING), Response)
        assert listener.received == [("notifications/message", 1)]


@requirement("LINK-13", "LINK-18")
async def test_an_event_that_was_small_as_it_was_packed_is_bounded_as_all_else() -> None:
    async with linked(streamed(bytes(1_000_000)), limit=10_000) as (link, *_):
        with pytest.raises(MessageTooLong):
            await link.request(PING)


@requirement("LINK-13", "LINK-18")
async def test_what_follows_the_end_of_a_packed_event_stream_is_not_kept() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about != "ping":
            return web.Response(status=202)
        stream = await asked.stream(**{"Content-Encoding": "x-gzip"})
        await stream.response.write(gzip.compress(b"data: {}\n\n"))
        while True:
            await stream.response.write(b"more")
            await asyncio.sleep(0)

    async with linked(respond) as (link, *_):
        with pytest.raises(LinkClosed, match="without a response"):
            await link.request(PING, Deadline("ping", 5))


@requirement("LINK-13")
async def test_an_event_stream_that_is_not_packed_as_it_says_is_told_as_that() -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about != "ping":
            return web.Response(status=202)
        stream = await asked.stream(**{"Content-Encoding": "x-gzip"})
        await stream.response.write(b"data: " + ANSWER + b"\n\n")
        await asyncio.Event().wait()
        return stream.response

    async with linked(respond) as (link, *_):
        with pytest.raises(LinkClosed, match="broke off: it is not compressed as it says"):
            await link.request(PING)


JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
GARBLED = {
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", b""),
    "no gzip": (JSON_HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n", b"zzzz"),
    "no x-gzip": (JSON_HEAD + b"Content-Encoding: x-gzip\r\nContent-Length: 4\r\n\r\n", b"zzzz"),
    "no gzip in a stream": (STREAM_HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n", b"zzzz"),
    "no chunk": (JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"zz\r\n"),
    "no chunk in a stream": (STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"zz\r\n"),
    "heads without end": (b"", b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" * 1_000),
    "framing without end": (JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x" * 2_000_000),
}
BROKEN_OFF = {
    "nothing": (b"", b""),
    "half a body": (JSON_HEAD + b"Content-Length: 400\r\n\r\n", b"{"),
    "half a chunk": (JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"400\r\n{"),
    "half a stream": (STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"400\r\n: x"),
}


async def faults_after(head: bytes, body: bytes) -> Mapping[str, int]:
    """Of a server with this answer, which closes the connection behind it."""

    async def vice(asked: raw_site.Asked) -> None:
        await asked.write(head)
        await asyncio.sleep(0)  # so that they come in two pieces
        await asked.write(body)
        asked.close()

    async with asyncio.timeout(PATIENCE_S), raw_site.raw_site(vice) as site:
        link, listener = HttpLink(site.url), Listener()
        await link.open(listener.incoming, listener.lost.append)
        try:
            with pytest.raises(LinkClosed):
                await link.request(OutgoingRequest("tools/call", b"{}"))
            return link.faults.in_words()
        finally:
            await link.close()


@requirement("MGR-19", "LINK-13", "QUAL-03")
@pytest.mark.parametrize("case", GARBLED)
async def test_an_answer_that_nobody_can_read_is_counted(case: str) -> None:
    assert await faults_after(*GARBLED[case]) == {"messages that cannot be read": 1}


@requirement("MGR-19")
@pytest.mark.parametrize("case", BROKEN_OFF)
async def test_one_that_breaks_off_may_be_nobodys_fault(case: str) -> None:
    assert await faults_after(*BROKEN_OFF[case]) == {}

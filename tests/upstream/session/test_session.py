"""A conversation over the memory link: eras, gates, lists, questions."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from clawft.errors import (
    METHOD_NOT_FOUND,
    UNSUPPORTED_REVISION,
    JsonRpcFailure,
    LinkClosed,
    LinkError,
    LinkRefused,
    NeedsAuth,
    ProtocolFailure,
    RequestTimeout,
)
from clawft.link.base import LinkKind, OutgoingRequest
from clawft.link.memory import MemoryLink, Scripted
from clawft.model import Era
from clawft.upstream.links import links_to
from clawft.upstream.offer import server_offer
from clawft.upstream.offer.room import Room
from clawft.upstream.pool import Pool
from clawft.upstream.session import paging, session
from clawft.upstream.session.session import Session
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response
from tests.requirements import requirement
from tests.servers.web import Asked, serve
from tests.upstream.support import until

HELLO: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}
DISCOVERED: dict[str, Any] = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "instructions": "be brief",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new"}},
}


class Listener:
    def __init__(self) -> None:
        self.notices: list[Notification] = []
        self.questions: list[Request] = []
        self.ends: list[LinkError] = []

    def on_notification(self, notification: Notification, stream: int | None) -> None:
        self.notices.append(notification)

    async def answer_request(self, request: Request, stream: int | None) -> Mapping[str, Any]:
        self.questions.append(request)
        if request.method == "roots/list":
            return {"roots": []}
        raise JsonRpcFailure(METHOD_NOT_FOUND, "not here")

    def on_lost(self, error: LinkError) -> None:
        self.ends.append(error)


def over(answers: Mapping[str, Scripted]) -> tuple[Session, MemoryLink, Listener]:
    link, listener = MemoryLink(answers), Listener()
    return Session(link, listener, {"roots": {}}), link, listener


def unsupported(*versions: str) -> JsonRpcFailure:
    return JsonRpcFailure(UNSUPPORTED_REVISION, "no", {"supported": list(versions)})


@requirement("SESS-01", "SESS-02", "T-4.1", "T-4.2", "T-4.3", "FR-001", "S2-P4-01", "S4-CL-01", "LINK-02", "T-2.3")
async def test_the_handshake_is_initialize_then_initialized_and_the_server_is_remembered() -> None:
    mine, link, _ = over({"initialize": {**HELLO, "instructions": "be kind"}})
    peer = await mine.connect()
    assert link.methods == ["server/discover", "initialize"]
    hello = json.loads(link.requests[1].params)
    assert (hello["protocolVersion"], hello["capabilities"]) == ("2025-11-25", {"roots": {}})
    assert hello["clientInfo"]["name"] == "clawft"
    assert [each.method for each in link.notices] == ["notifications/initialized"]
    assert (peer.era, peer.revision, link.revision) == (Era.HANDSHAKE, "2025-11-25", "2025-11-25")
    assert (peer.server_info, peer.instructions) == ({"name": "s"}, "be kind")
    assert (mine.supports_tools(), mine.supports_resources(), mine.supports_prompts()) == (True, False, False)


@requirement("SESS-03", "T-4.4")
async def test_what_a_server_leaves_out_is_empty() -> None:
    mine, _, _ = over({"initialize": {"protocolVersion": "2024-11-05"}})
    peer = await mine.connect()
    assert (peer.capabilities, peer.server_info, peer.instructions) == ({}, {}, "")


@requirement("SESS-04", "S3-E04")
async def test_an_unknown_revision_ends_the_handshake_and_names_both_sides() -> None:
    mine, link, _ = over({"initialize": {"protocolVersion": "1999-01-01"}})
    with pytest.raises(ProtocolFailure, match=r"1999-01-01.*2025-11-25"):
        await mine.connect()
    assert link.notices == []


@requirement("SESS-05", "T-4.5", "S2-P4-07")
@pytest.mark.parametrize("error", [LinkClosed("gone"), JsonRpcFailure(-32603, "broken"), RequestTimeout("x", 1)])
async def test_what_goes_wrong_in_the_handshake_is_raised(error: LinkError) -> None:
    mine, _, _ = over({"initialize": error})
    with pytest.raises(type(error)):
        await mine.connect()


@requirement("SESS-06", "SESS-07")
async def test_a_stateless_server_is_never_initialized_and_told_everything_each_time() -> None:
    mine, link, _ = over({"server/discover": DISCOVERED, "tools/list": {"resultType": "complete", "tools": []}})
    peer = await mine.connect()
    await mine.list_tools()
    assert (peer.era, peer.server_info, peer.instructions) == (Era.STATELESS, {"name": "new"}, "be brief")
    assert link.methods == ["server/discover", "tools/list"]
    for sent in link.requests:
        meta = json.loads(sent.params)["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == sent.revision == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}


@requirement("SESS-07")
@pytest.mark.parametrize(
    "answer",
    [
        JsonRpcFailure(-32601, "unknown"),
        JsonRpcFailure(-32602, "odd"),
        JsonRpcFailure(-32000, "not initialized"),
        LinkRefused("405", http_status=405),
        RequestTimeout("server/discover", 1),
        {"tools": []},
        {**DISCOVERED, "supportedVersions": ["2025-11-25"]},
        {key: value for key, value in DISCOVERED.items() if key != "resultType"},
        unsupported("2025-11-25"),
        b"[]",
    ],
)
async def test_whatever_is_no_proof_of_the_stateless_era_leads_to_the_handshake(answer: Scripted) -> None:
    mine, _, _ = over({"server/discover": answer, "initialize": HELLO})
    assert (await mine.connect()).era is Era.HANDSHAKE


@requirement("SESS-07")
@pytest.mark.parametrize(
    "answer",
    [NeedsAuth("login"), LinkRefused("403", http_status=403), LinkRefused("503", http_status=503), LinkClosed("dns")],
)
async def test_locked_doors_and_broken_networks_are_no_evidence(answer: LinkError) -> None:
    mine, link, _ = over({"server/discover": answer, "initialize": HELLO})
    with pytest.raises(type(answer)):
        await mine.connect()
    assert link.methods == ["server/discover"]


@requirement("SESS-07")
async def test_a_refused_version_is_tried_again_at_one_the_server_names() -> None:
    answers = iter([unsupported("2026-07-28"), DISCOVERED])
    mine, link, _ = over({"server/discover": lambda _: next(answers)})
    assert (await mine.connect()).era is Era.STATELESS
    assert link.methods == ["server/discover"] * 2


UNPROVEN: list[tuple[Scripted, str]] = [
    ({key: value for key, value in DISCOVERED.items() if key != "resultType"}, "has no resultType"),
    ({**DISCOVERED, "supportedVersions": "2026-07-28"}, "names no version like 2026-07-28"),
    (b"[]", "is malformed"),
]


@requirement("SESS-07")
@pytest.mark.parametrize(("answer", "why"), UNPROVEN)
async def test_a_stateless_server_that_does_not_show_it_is_told_why_it_was_offered_a_handshake(
    answer: Scripted, why: str
) -> None:
    mine, _, _ = over({"server/discover": answer, "initialize": JsonRpcFailure(METHOD_NOT_FOUND, "no such method")})
    with pytest.raises(JsonRpcFailure, match=f"no such method; the answer to server/discover {why}"):
        await mine.connect()
    mine, _, _ = over({"server/discover": answer})
    with pytest.raises(ProtocolFailure, match=f"the answer to server/discover {why}"):
        await mine.connect(pinned=Era.STATELESS)


@requirement("SESS-07", "SESS-04")
async def test_a_server_that_shares_no_version_is_given_up_with_both_lists() -> None:
    mine, link, _ = over({"server/discover": unsupported("2031-01-01"), "initialize": HELLO})
    with pytest.raises(ProtocolFailure, match=r"2031-01-01.*2026-07-28"):
        await mine.connect()
    assert "initialize" not in link.methods


@requirement("SESS-07")
async def test_a_slow_server_that_locked_itself_to_the_probe_is_probed_again() -> None:
    answers = iter([RequestTimeout("server/discover", 10_000), DISCOVERED])
    mine, link, _ = over({"server/discover": lambda _: next(answers), "initialize": unsupported("2026-07-28")})
    assert (await mine.connect()).era is Era.STATELESS
    assert link.methods == ["server/discover", "initialize", "server/discover"]


@requirement("SESS-07")
async def test_a_known_era_is_tried_first_and_found_anew_when_it_fails() -> None:
    mine, link, _ = over({"initialize": HELLO})
    await mine.connect(Era.HANDSHAKE)
    assert link.methods == ["initialize"]
    mine, link, _ = over({"initialize": JsonRpcFailure(-32601, "gone"), "server/discover": DISCOVERED})
    assert (await mine.connect(Era.HANDSHAKE)).era is Era.STATELESS


@requirement("SESS-08", "S2-P4-02", "S2-P4-03")
async def test_only_what_is_declared_is_asked_for() -> None:
    mine, link, _ = over({"initialize": {**HELLO, "capabilities": {"prompts": {}}}, "prompts/list": {"prompts": []}})
    await mine.connect(Era.HANDSHAKE)
    await server_offer.ask(mine, "mine", Room().place(), server_offer.NOTHING)
    assert link.methods == ["initialize", "prompts/list"]


@requirement("SESS-08")
async def test_a_server_that_declares_nothing_is_asked_for_tools_once() -> None:
    mine, link, _ = over({"initialize": {**HELLO, "capabilities": {}}})
    await mine.connect(Era.HANDSHAKE)
    assert (await server_offer.ask(mine, "mine", Room().place(), server_offer.NOTHING)).tools == ()
    assert link.methods == ["initialize", "tools/list"]


@requirement("SESS-09", "T-4.6", "S2-P1-06")
async def test_a_list_is_followed_to_its_end_and_an_empty_cursor_is_one() -> None:
    pages = {None: ("", ["a"]), "": ("2", ["b"]), "2": (None, ["c"])}

    def page(sent: OutgoingRequest) -> Mapping[str, Any]:
        after, names = pages[json.loads(sent.params or b"{}").get("cursor")]
        return {"tools": [{"name": name} for name in names], "nextCursor": after}

    mine, _, _ = over({"initialize": HELLO, "tools/list": page})
    await mine.connect(Era.HANDSHAKE)
    assert [json.loads(tool)["name"] for tool in await mine.list_tools()] == ["a", "b", "c"]


@requirement("SESS-09")
async def test_a_list_that_runs_in_circles_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, link, _ = over({"initialize": HELLO, "tools/list": {"tools": [{"name": "a"}], "nextCursor": "again"}})
    await mine.connect(Era.HANDSHAKE)
    assert len(await mine.list_tools()) == 2
    monkeypatch.setattr(paging, "MAX_ITEMS", 1)
    assert len(await mine.list_tools()) == 1
    link.answers["tools/list"] = {"tools": "none"}
    with pytest.raises(ProtocolFailure, match="malformed"):
        await mine.list_tools()


@requirement("SESS-10", "T-4.7", "S2-P4-04", "SESS-11", "T-3.1", "T-3.2", "SESS-12", "T-3.3", "FR-003")
async def test_calls_raw_requests_and_notices() -> None:
    mine, link, _ = over({"initialize": HELLO, "tools/call": {"content": []}, "x/y": b'{"n":1.50}'})
    await mine.connect(Era.HANDSHAKE)
    assert json.loads(await mine.call_tool("add")) == {"content": []}
    assert json.loads(link.requests[-1].params) == {"name": "add", "arguments": {}}
    assert await mine.send_raw("x/y", b'{"a":1}') == b'{"n":1.50}'
    with pytest.raises(JsonRpcFailure) as refused:
        await mine.send_raw("no/such")
    assert refused.value.error_code == METHOD_NOT_FOUND
    await mine.notify("notifications/x")
    assert link.notices[-1] == Notification("notifications/x", b"")


@requirement("SESS-13")
async def test_every_request_has_a_deadline() -> None:
    async def never(_: OutgoingRequest) -> Mapping[str, Any]:
        await asyncio.Event().wait()
        return {}

    mine, _, _ = over({"initialize": HELLO, "slow": never})
    await mine.connect(Era.HANDSHAKE)
    with pytest.raises(RequestTimeout, match="50 ms"):
        await mine.request("slow", seconds=0.05)


@requirement("SESS-21", "SESS-22")
async def test_questions_are_answered_or_refused_and_notices_passed_on() -> None:
    mine, link, listener = over({"initialize": HELLO})
    await mine.connect(Era.HANDSHAKE)
    link.ask(1, "ping")
    link.ask(2, "roots/list")
    link.ask(3, "sampling/createMessage")
    link.say("notifications/tools/list_changed")
    await until(lambda: len(link.replies) == 3)
    by_id = {each.id: each for each in link.replies if isinstance(each, Response | Failure)}
    assert by_id[b"1"] == Response(b"1", b"{}")
    assert by_id[b"2"] == Response(b"2", b'{"roots":[]}')
    assert isinstance(by_id[b"3"], Failure)
    assert [each.method for each in listener.notices] == ["notifications/tools/list_changed"]


@requirement("SESS-21", "QUAL-03")
async def test_what_clients_could_not_parse_is_not_passed_on(caplog: pytest.LogCaptureFixture) -> None:
    deep = json.loads('{"a":' * 300 + "1" + "}" * 300)
    mine, link, listener = over({"initialize": HELLO})
    await mine.connect(Era.HANDSHAKE)
    link.ask(1, "sampling/createMessage", deep)
    for _ in range(50):
        link.say("notifications/message", {"level": "info", "data": deep})
    link.say("notifications/message", {"level": "info", "data": "fine"})
    await until(lambda: len(link.replies) == 1)
    refused = link.replies[0]
    assert isinstance(refused, Failure)
    assert refused.read().message.startswith("sampling/createMessage cannot be passed on: it is nested more than 199")
    assert listener.questions == []
    assert [json.loads(each.params)["data"] for each in listener.notices] == ["fine"]
    assert mine.faults.in_words() == {"messages that cannot be read": 50, "questions refused": 1}
    assert caplog.text.count("notifications/message is passed over: it is nested") == session.TOLD_UNHEARD


@requirement("SESS-21")
async def test_a_stateless_server_gets_its_answers_with_the_next_request_and_its_state_back() -> None:
    state = '"opaque \\u00e9"'
    asks = (
        b'{"resultType":"input_required","requestState":' + state.encode() + b',"inputRequests":'
        b'{"where":{"method":"roots/list"}}}'
    )
    answers = iter([asks, b'{"resultType":"input_required","requestState":"two"}', b'{"content":[]}'])
    mine, link, _ = over({"server/discover": DISCOVERED, "tools/call": lambda _: next(answers)})
    await mine.connect()
    assert await mine.call_tool("ask", {"a": 1}) == b'{"content":[]}'
    first, second, third = (json.loads(each.params) for each in link.requests[1:])
    assert "requestState" not in first
    assert second["inputResponses"] == {"where": {"roots": []}}
    assert state.encode() in link.requests[2].params  # byte for byte
    assert (third["requestState"], "inputResponses" in third) == ("two", False)
    assert first["arguments"] == second["arguments"] == third["arguments"] == {"a": 1}


@requirement("SESS-06", "QUAL-03")
async def test_a_request_of_a_stateless_server_is_counted_and_gets_no_answer() -> None:
    """Its era has none, and no answers of clients either."""
    mine, link, listener = over({"server/discover": DISCOVERED, "tools/call": {"content": []}})
    await mine.connect()
    for id, method in enumerate(("ping", "sampling/createMessage", "elicitation/create")):
        link.ask(id, method)
    await mine.call_tool("a")
    await mine.close()
    assert (link.replies, listener.questions) == ([], [])
    assert mine.faults.in_words() == {"requests, which servers of its era do not send": 3}


@requirement("SESS-21")
async def test_a_server_that_never_stops_asking_is_given_up() -> None:
    asks = {"resultType": "input_required", "requestState": "x"}
    mine, link, _ = over({"server/discover": DISCOVERED, "tools/call": asks})
    await mine.connect()
    with pytest.raises(ProtocolFailure, match="rounds"):
        await mine.call_tool("ask")
    assert len(link.requests) == session.MAX_ROUNDS + 2


@requirement("LINK-21")
async def test_annotated_arguments_travel_as_headers_and_bad_annotations_lose_the_tool() -> None:
    def tool(name: str, annotation: str, type: str = "string") -> Mapping[str, Any]:
        properties = {"region": {"type": type, "x-mcp-header": annotation}, "other": {"type": "string"}}
        return {"name": name, "inputSchema": {"type": "object", "properties": properties}}

    class Http(MemoryLink):
        kind: LinkKind = "http"

    listed = {"tools": [tool("good", "Region"), tool("spaced", "Re gion"), tool("number", "Region", "number")]}
    link = Http({"server/discover": DISCOVERED, "tools/list": listed, "tools/call": {"content": []}})
    mine = Session(link, Listener())
    await mine.connect()
    assert [json.loads(each)["name"] for each in await mine.list_tools()] == ["good"]
    await mine.call_tool("good", {"region": "Zürich", "other": "x"})
    assert link.requests[-1].mirrored == (("Mcp-Param-Region", "=?base64?WsO8cmljaA==?="),)
    assert link.requests[-1].name == "good"
    await mine.call_tool("good", {"region": None})
    assert link.requests[-1].mirrored == ()


@requirement("SESS-19", "S2-P4-06")
async def test_closing_twice_is_closing_and_nothing_is_said() -> None:
    mine, link, listener = over({"initialize": HELLO})
    await mine.connect(Era.HANDSHAKE)
    before = list(link.methods)
    await mine.close()
    await mine.close()
    assert (link.methods, listener.ends) == (before, [])
    with pytest.raises(LinkClosed):
        await mine.request("tools/list")


@requirement("SESS-06", "QUAL-03")
async def test_a_stateless_server_over_http_that_asks_is_posted_nothing(tmp_path: Path) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        answers: dict[str, Any] = {"server/discover": DISCOVERED, "tools/list": {"resultType": "complete", "tools": []}}
        if asked.about != "tools/call":
            return asked.result(answers[asked.about]) if asked.about in answers else web.Response(status=405)
        events = await asked.stream()
        await events.send({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}})
        done: dict[str, Any] = {"resultType": "complete", "content": []}
        await events.send({"jsonrpc": "2.0", "id": asked.message["id"], "result": done})
        return events.response

    async with asyncio.timeout(20), serve(respond) as site:
        pool = Pool(tmp_path, links_to, [])
        await pool.connect(UpstreamSpec("a", url=site.url))
        session = pool.find("a").session
        assert session is not None
        await session.call_tool("x")
        await session.call_tool("x")
        told = pool.server_status("a").faults
        await pool.close()
    assert [each.message for each in site.asked if each.method == "POST" and "method" not in each.message] == []
    assert told == {"requests, which servers of its era do not send": 2}

"""The handshake era over HTTP: sessions and their streams. Leaving is not cancelling here."""

import asyncio
import json
import time
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from mcp_types.methods import validate_server_result

from clawft.gateway.conversation import ENDED, Conversation
from clawft.gateway.core import Gateway
from clawft.gateway.events import ElicitationCompleted, GatewayEvent
from clawft.gateway.http import sessions
from clawft.gateway.http.access import LOOPBACK_HOSTS, Access
from clawft.gateway.http.sessions import IDLE_SECONDS, Sessions
from clawft.model import LOCAL, Call, Caller, Grant, Reply
from clawft.wire.headers import Headers
from tests.gateway.asgi_client import Session, http
from tests.gateway.asking import ADA, CAN_FILL
from tests.gateway.asking import server as asking_server
from tests.gateway.support import Demo, Gate, Streaming, echo, serving, soon, texts, turns
from tests.growth import grows_linearly
from tests.requirements import requirement


async def busy(call: Call) -> Reply:
    call.talk.progress(1)
    return Reply.text("done")


def server(*more: Demo) -> Gateway:
    return serving(Demo().add("echo", echo).add("busy", busy), *more)


TOKEN: dict[str, Any] = {"_meta": {"progressToken": 1}}


@requirement("SHELL-19", "SHELL-02")
async def test_initialize_opens_a_session_with_an_unguessable_id() -> None:
    async with http(server()) as client:
        one, two = await client.initialize(), await client.initialize()
        ids = [session.headers["mcp-session-id"] for session in (one, two)]
        assert ids[0] != ids[1]
        assert all(len(id) >= 32 and all(0x21 <= ord(c) <= 0x7E for c in id) for id in ids)
        listed = await one.send("tools/list").whole()
        assert (listed.status, listed.headers["content-type"]) == (200, "application/json")
        validate_server_result("tools/list", "2025-11-25", listed.json["result"])
        assert texts((await one.send("tools/call", {"name": "demo__echo"}).whole()).json) == ["{}"]


@requirement("SHELL-19")
async def test_a_refused_initialize_opens_no_session() -> None:
    async with http(server()) as client:
        refused = await client.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}).whole()
        assert refused.json["error"]["code"] == -32602
        assert "mcp-session-id" not in refused.headers


@requirement("SHELL-19")
async def test_a_session_must_be_named_and_known() -> None:
    async with http(server()) as client:
        session = await client.initialize()
        request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert (await client.post(request).whole()).status == 400
        unknown = await client.post(request, {"mcp-session-id": "nonsense"}).whole()
        assert (unknown.status, unknown.json["error"]["message"]) == (
            404,
            "this session is not known here, or has ended (send initialize again, without it)",
        )
        assert (await client.post([request], {"mcp-session-id": "nonsense"}).whole()).status == 404
        assert (await client.start("GET", headers={"accept": "text/event-stream"}).whole()).status == 400
        assert (await client.start("DELETE").whole()).status == 400
        assert (await session.send("ping").whole()).json["result"] == {}


@requirement("SHELL-19", "WIRE-04")
async def test_an_id_in_use_is_refused_in_its_session_only() -> None:
    gate = Gate()
    async with http(serving(Demo().add("wait", gate))) as client:
        session, other = await client.initialize(), await client.initialize()
        waiting = session.send("tools/call", {"name": "demo__wait"}, id=7)
        await soon(gate.begun)
        refused = (await session.send("ping", id=7).whole()).json
        assert (refused["id"], refused["error"]["code"]) == (7, -32600)
        assert (await other.send("ping", id=7).whole()).json["result"] == {}
        gate.open.set()
        assert texts((await waiting.whole()).json) == ["through"]


@requirement("SHELL-19")
async def test_a_session_ends_with_delete() -> None:
    async with http(server()) as client:
        session = await client.initialize()
        stream = session.stream()
        await stream.until(lambda: stream.status)
        assert (await client.start("DELETE", headers=session.headers).whole()).status == 204
        await stream.whole()
        assert (await session.send("ping").whole()).status == 404
        assert (await client.start("DELETE", headers=session.headers).whole()).status == 404


@requirement("SHELL-19")
@pytest.mark.parametrize("tool", ["wait", "stream"])
async def test_a_call_of_a_session_that_is_ended_is_answered_with_why(tool: str) -> None:
    gates = {"wait": Gate(), "stream": Streaming()}
    async with http(serving(Demo().add("wait", gates["wait"]).add("stream", gates["stream"]))) as client:
        session = await client.initialize()
        call = session.send("tools/call", {"name": f"demo__{tool}", **TOKEN}, id="c")
        await soon(gates[tool].begun)
        assert (await client.start("DELETE", headers=session.headers).whole()).status == 204
        answer = await call.whole()
        last = answer.json if tool == "wait" else json.loads(answer.events[-1].data)
        assert (answer.status, last["id"], last["error"]["message"]) == (200, "c", ENDED)


@requirement("SHELL-19")
async def test_a_session_is_bound_to_its_principal() -> None:
    def who(headers: Headers) -> Caller | None:
        return Caller(headers.get(b"authorization", b"").decode() or "nobody")

    async with http(server(), Access(who, LOOPBACK_HOSTS)) as client:
        session = await client.initialize()
        stranger = Session(client, session.headers["mcp-session-id"], "2025-11-25")
        stranger.headers["authorization"] = "bob"
        for answer in (stranger.send("ping"), stranger.stream(), client.start("DELETE", headers=stranger.headers)):
            assert (await answer.whole()).status == 404
        assert (await session.send("ping").whole()).status == 200


@requirement("SHELL-19", "SHELL-04")
async def test_notifications_and_answers_are_accepted_with_202() -> None:
    async with http(server()) as client:
        session = await client.initialize()
        messages: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 9, "result": {}},
            {"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": ""}},
        ]
        for message in messages:
            answer = await session.write(message).whole()
            assert (answer.status, answer.body) == (202, b"")


@requirement("WIRE-22")
async def test_batches() -> None:
    batch: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "demo__echo"}},
    ]
    async with http(server()) as client:
        old, new = await client.initialize("2025-03-26"), await client.initialize("2025-06-18")
        answers = (await old.write(batch).whole()).json
        assert sorted(answer["id"] for answer in answers) == [1, 2]
        assert (await old.write([{"jsonrpc": "2.0", "method": "notifications/x"}]).whole()).status == 202
        for broken in (b"[]", b"[1,"):
            assert (await old.write(broken).whole()).status == 400
        refused = await new.write(batch).whole()
        assert (refused.status, refused.json["error"]["code"]) == (400, -32600)


@requirement("WIRE-22", "SHELL-19")
async def test_what_the_calls_of_a_batch_say_comes_before_their_answers() -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "demo__busy", **TOKEN}}
    async with http(server()) as client:
        session = await client.initialize("2025-03-26")
        answer = await session.write([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, call]).whole()
        assert answer.headers["content-type"] == "text/event-stream"
        said, together = (json.loads(event.data) for event in answer.events)
        assert said["method"] == "notifications/progress"
        assert sorted(each["id"] for each in together) == [1, 2]


# ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19")
@pytest.mark.parametrize(("revision", "primed"), [("2025-06-18", False), ("2025-11-25", True)])
async def test_an_answer_becomes_a_stream_once_there_is_something_to_stream(revision: str, primed: bool) -> None:
    async with http(server()) as client:
        session = await client.initialize(revision)
        answer = await session.send("tools/call", {"name": "demo__busy", **TOKEN}).whole()
        assert answer.headers["content-type"] == "text/event-stream"
        assert [event.data == "" for event in answer.events] == [True, False, False][not primed :]
        assert len({event.id for event in answer.events}) == len(answer.events)
        assert texts(answer.messages[-1]) == ["done"]
        quiet = await session.send("tools/call", {"name": "demo__busy"}).whole()
        assert quiet.headers["content-type"] == "application/json"


@requirement("SHELL-17", "SHELL-19")
async def test_the_stream_of_a_session_carries_the_news_and_there_is_one() -> None:
    served = server()
    async with http(served) as client:
        session = await client.initialize()
        stream = session.stream()
        await stream.until(lambda: stream.status == 200)
        assert (await session.stream().whole()).status == 409
        served.register(Demo("more"))
        assert (await stream.message())["method"] == "notifications/tools/list_changed"
        assert (await session.stream().whole()).status == 409
        stream.leave()
        async with asyncio.timeout(5):
            await stream.task
        again = session.stream()
        await again.until(lambda: again.status == 200)


@requirement("SHELL-19")
async def test_a_get_must_take_events() -> None:
    async with http(server()) as client:
        session = await client.initialize()
        for accept in ("application/json", ""):
            headers = {**session.headers, "accept": accept}
            assert (await client.start("GET", headers=headers).whole()).status == 406


@requirement("SHELL-19")
@pytest.mark.parametrize("accept", ["text/event-stream;q=0.5", "TEXT/EVENT-STREAM", "text/*", "*/*"])
async def test_a_get_takes_events_in_any_spelling(accept: str) -> None:
    async with http(server()) as client:
        session = await client.initialize()
        stream = client.start("GET", headers={**session.headers, "accept": accept})
        await stream.until(lambda: stream.status == 200)


@requirement("RES-10", "SHELL-19")
async def test_a_question_goes_out_on_the_stream_of_its_call() -> None:
    async with http(asking_server()) as client:
        session = await client.initialize(capabilities=CAN_FILL)
        aside = session.stream()
        call = session.send("tools/call", {"name": "demo__greet"})
        question = await call.message()
        assert question["method"] == "elicitation/create"
        answered = await session.write({"jsonrpc": "2.0", "id": question["id"], "result": ADA}).whole()
        assert answered.status == 202
        assert texts((await call.whole()).messages[-1]) == ["hello ada"]
        assert aside.messages == []


@requirement("WIRE-05", "SHELL-19")
async def test_an_answer_that_cannot_be_read_ends_its_question() -> None:
    async with http(asking_server()) as client:
        session = await client.initialize(capabilities=CAN_FILL)
        call = session.send("tools/call", {"name": "demo__greet"})
        question = await call.message()
        refused = await session.write({"jsonrpc": "2.0", "id": question["id"]}).whole()
        assert (refused.status, refused.json["id"], refused.json["error"]["code"]) == (400, None, -32600)
        assert (await call.whole()).messages[-1]["result"]["isError"]


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19")
async def test_sessions_are_bounded_and_the_longest_unused_goes_first() -> None:
    sessions = Sessions(server(), limit=2)
    one, two = sessions.open(Caller()), sessions.open(Caller())
    assert sessions.find(one.id, Caller()) is one
    three = sessions.open(Caller())
    assert [sessions.find(session.id, Caller()) for session in (one, two, three)] == [one, None, three]
    sessions.close()
    assert len(sessions) == 0


@requirement("SHELL-19")
async def test_where_all_are_taken_somebody_with_most_of_them_gives_way() -> None:
    ada = Caller(principal="issuer#ada")
    sessions = Sessions(server(), limit=3)
    hers, first, second = sessions.open(ada), sessions.open(Caller()), sessions.open(Caller())
    third = sessions.open(Caller())
    assert [sessions.find(session.id, Caller()) for session in (first, second, third)] == [None, second, third]
    assert sessions.find(hers.id, ada) is hers
    sessions.close()


@requirement("SHELL-19")
async def test_idle_sessions_expire_but_not_those_that_listen() -> None:
    sessions = Sessions(server(), idle=-1)
    one, two = sessions.open(Caller()), sessions.open(Caller())
    assert sessions.find(one.id, Caller()) is None
    reading = asyncio.ensure_future(anext(aiter(two.own_stream.read(two.own_stream.enter()))))
    await turns(reading.done)
    sessions.open(Caller())
    assert sessions.find(two.id, Caller()) is two
    sessions.close()


@requirement("SHELL-19", "QUAL-12")
async def test_a_session_is_not_idle_while_a_call_runs_in_it_nor_when_it_was_just_answered() -> None:
    gate = Gate()
    async with http(server(Demo("slow").add("call", gate))) as client:
        session = await client.initialize()
        call = session.send("tools/call", {"name": "slow__call"})
        await soon(gate.begun)
        with pytest.MonkeyPatch.context() as later:
            later.setattr(sessions, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 2 * IDLE_SECONDS))
            await client.initialize()
            gate.open.set()
            assert texts((await call.whole()).json) == ["through"]
            await client.initialize()
            assert (await session.send("ping").whole()).status == 200


@requirement("SHELL-19")
async def test_of_several_who_have_as_many_gives_way_who_has_the_longest_unused() -> None:
    ada, bob = Caller(principal="issuer#ada"), Caller(principal="issuer#bob")
    sessions = Sessions(server(), limit=2)
    hers, his = sessions.open(ada), sessions.open(bob)
    assert sessions.find(hers.id, ada) is hers
    sessions.open(Caller())
    assert (sessions.find(hers.id, ada), sessions.find(his.id, bob)) == (hers, None)
    sessions.close()


@requirement("SHELL-19")
async def test_whose_answer_has_just_gone_out_is_not_the_longest_unused() -> None:
    sessions = Sessions(server(), limit=2)
    one, two = sessions.open(Caller()), sessions.open(Caller())
    sessions.touch(one)
    sessions.open(Caller())
    assert (sessions.find(one.id, Caller()), sessions.find(two.id, Caller())) == (one, None)
    sessions.end(one)
    sessions.touch(one)
    assert sessions.find(one.id, Caller()) is None
    sessions.close()


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize(("name", "share"), [("issuer#{}", 2.0), (LOCAL, 2.0), (LOCAL, 0.5)])
async def test_another_session_costs_no_more_where_many_are_open(name: str, share: float) -> None:
    """Whether all have room, or half of them have to make it."""
    gateway = server()

    def work(size: int) -> None:
        sessions = Sessions(gateway, int(size * share))
        for number in range(size):
            sessions.open(Caller(principal=name.format(number)))
        sessions.close()

    assert grows_linearly(work, 1_000)


@requirement("SHELL-19", "QUAL-12")
async def test_no_other_session_hears_of_the_end_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[GatewayEvent] = []

    def tell(_: Conversation, event: GatewayEvent) -> None:
        heard.append(event)

    monkeypatch.setattr(Conversation, "_on_event", tell)
    gateway = server()
    sessions = Sessions(gateway)
    one, _ = sessions.open(Caller()), sessions.open(Caller())
    sessions.end(one)
    gateway.events.publish(ElicitationCompleted("x"))
    assert heard == [ElicitationCompleted("x")]
    sessions.close()


@requirement("GUARD-06", "GUARD-07")
async def test_a_token_with_other_rights_does_not_ride_in_the_session_of_one_with_more() -> None:
    strong = Caller(principal="issuer#ada", agent="ada", grant=Grant(("*",)), proof="one")
    sessions = Sessions(serving())
    session = sessions.open(strong)
    assert sessions.find(session.id, strong) is session
    assert sessions.find(session.id, msgspec.structs.replace(strong, grant=Grant(("*",)))) is session, "renewed"
    for other in (
        msgspec.structs.replace(strong, grant=Grant(("memory__*",))),
        msgspec.structs.replace(strong, proof="another"),
        msgspec.structs.replace(strong, principal="issuer#bob"),
        Caller(),
    ):
        assert sessions.find(session.id, other) is None
    sessions.close()

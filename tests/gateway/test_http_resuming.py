"""Leaving, cancelling, coming back: the streams of a session outlive their connections."""

import asyncio
from typing import Any

from clawft.gateway.core import Gateway
from clawft.model import Call, Reply
from tests.gateway.asgi_client import http
from tests.gateway.support import Demo, Gate, Streaming, closing_has_begun, echo, serving, soon, texts
from tests.requirements import requirement

TOKEN: dict[str, Any] = {"_meta": {"progressToken": 1}}


async def busy(call: Call) -> Reply:
    call.talk.progress(1)
    return Reply.text("done")


def server() -> Gateway:
    return serving(Demo().add("echo", echo).add("busy", busy))


@requirement("SHELL-19")
async def test_leaving_does_not_cancel_and_the_rest_can_be_fetched() -> None:
    gate = Streaming()
    async with http(serving(Demo().add("wait", gate))) as client:
        session = await client.initialize()
        call = session.send("tools/call", {"name": "demo__wait", **TOKEN}, id="c")
        await call.message()
        last = call.events[-1].id
        call.leave()
        gate.open.set()
        async with asyncio.timeout(5):
            await call.task
        assert not gate.cancelled.is_set()
        resumed = await session.stream(last or "").whole()
        assert [message["id"] for message in resumed.messages] == ["c"]
        again = await session.stream(call.events[0].id or "").whole()
        assert [message.get("method", "answer") for message in again.messages] == ["notifications/progress", "answer"]


@requirement("SHELL-19")
async def test_coming_back_takes_over_from_a_connection_that_only_looks_alive() -> None:
    gate = Streaming()
    async with http(serving(Demo().add("wait", gate))) as client:
        session = await client.initialize()
        call = session.send("tools/call", {"name": "demo__wait", **TOKEN}, id="c")
        await call.message()
        resumed = session.stream(call.events[0].id or "")
        assert (await resumed.message())["method"] == "notifications/progress"
        gate.open.set()
        assert texts((await resumed.whole()).messages[-1]) == ["through"]
        assert len(call.messages) == 1


@requirement("SHELL-19")
async def test_only_the_streams_of_this_session_can_be_resumed() -> None:
    async with http(server()) as client:
        one, two = await client.initialize(), await client.initialize()
        answer = await one.send("tools/call", {"name": "demo__busy", **TOKEN}).whole()
        first = answer.events[0].id or ""
        assert (await two.stream(first).whole()).status == 400
        for odd in ("nonsense", "1.", ".1", "1.x", "1.-1", "9" * 30 + ".1"):
            assert (await one.stream(odd).whole()).status == 400


@requirement("SHELL-19")
async def test_a_stream_that_was_heard_to_its_end_is_not_resumed() -> None:
    """Published clients ask for the rest once an answer was an error, and give up on the session if there is none."""
    async with http(server()) as client:
        session = await client.initialize()
        answer = await session.send("tools/call", {"name": "demo__busy", **TOKEN}).whole()
        assert (await session.stream(answer.events[-1].id or "").whole()).status == 405
        assert (await session.stream(answer.events[-2].id or "").whole()).messages == answer.messages[-1:]


@requirement("SHELL-19")
async def test_a_tool_may_let_the_caller_poll() -> None:
    gate = Gate()

    async def polled(call: Call) -> Reply:
        call.talk.hang_up(50)
        return await gate(call)

    async with http(serving(Demo().add("polled", polled))) as client:
        session = await client.initialize()
        call = session.send("tools/call", {"name": "demo__polled"}, id="c")
        await call.until(lambda: call.ended)
        assert [(event.data, event.retry) for event in call.events] == [("", None), ("", 50)]
        resumed = session.stream(call.events[0].id or "")
        await soon(gate.begun)
        gate.open.set()
        assert texts((await resumed.whole()).messages[-1]) == ["through"]


@requirement("SHELL-12", "SHELL-19")
async def test_a_cancelled_call_ends_without_an_answer() -> None:
    gate = Gate()
    async with http(serving(Demo().add("wait", gate))) as client:
        session = await client.initialize()
        call = session.send("tools/call", {"name": "demo__wait"}, id="c")
        await soon(gate.begun)
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}}
        assert (await session.write(notice).whole()).status == 202
        await soon(gate.cancelled)
        ended = await call.whole()
        assert ended.body == b""


@requirement("SHELL-14", "SHELL-19")
async def test_draining_lets_calls_finish_and_refuses_new_ones() -> None:
    gate = Gate()
    async with http(serving(Demo().add("wait", gate))) as client:
        session = await client.initialize()
        call = session.send("tools/call", {"name": "demo__wait"}, id="old")
        stream = session.stream()
        await soon(gate.begun)
        draining = asyncio.ensure_future(client.app.drain(5))
        await closing_has_begun()
        refused = await session.send("tools/call", {"name": "demo__wait"}, id="new").whole()
        assert "shutting down" in refused.json["error"]["message"]
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
        assert (await client.post(hello).whole()).status == 503
        gate.open.set()
        assert texts((await call.whole()).json) == ["through"]
        await stream.whole()
        async with asyncio.timeout(5):
            await draining

"""2026-07-28 over HTTP: leaving means cancelling, and the end of the house is said to everyone."""

import asyncio

import pytest

from clawft.model import Call, Reply
from tests.gateway.asgi_client import http
from tests.gateway.support import Demo, Gate, closing_has_begun, echo, modern, serving, soon, texts
from tests.requirements import requirement


@requirement("SHELL-18")
@pytest.mark.parametrize("streaming", [False, True])
async def test_leaving_cancels_the_call(streaming: bool) -> None:
    gate = Gate()

    async def wait(call: Call) -> Reply:
        call.talk.progress(1)
        return await gate(call)

    async with http(serving(Demo().add("wait", wait))) as client:
        answer = client.stateless("tools/call", modern(name="demo__wait", token=1 if streaming else None))
        await soon(gate.begun)
        answer.leave()
        await soon(gate.cancelled)
        async with asyncio.timeout(5):
            await answer.task


@requirement("SHELL-12")
async def test_equal_ids_of_two_callers_do_not_meet() -> None:
    gate = Gate()
    async with http(serving(Demo().add("wait", gate).add("echo", echo))) as client:
        first = client.stateless("tools/call", modern(name="demo__wait"), id=1)
        await soon(gate.begun)
        second = await client.stateless("tools/call", modern(name="demo__echo"), id=1).whole()
        assert texts(second.json) == ["{}"]
        gate.open.set()
        assert texts((await first.whole()).json) == ["through"]


@requirement("SHELL-14")
async def test_while_draining_new_requests_are_refused_under_their_own_id() -> None:
    gate = Gate()
    async with http(serving(Demo().add("wait", gate))) as client:
        running = client.stateless("tools/call", modern(name="demo__wait"), id="old")
        await soon(gate.begun)
        draining = asyncio.ensure_future(client.app.drain(5))
        await closing_has_begun()
        refused = await client.stateless("tools/call", modern(name="demo__wait"), id="new").whole()
        assert refused.json["id"] == "new"
        assert "shutting down" in refused.json["error"]["message"]
        gate.open.set()
        assert texts((await running.whole()).json) == ["through"]
        async with asyncio.timeout(5):
            await draining


@requirement("SHELL-14")
async def test_a_call_that_does_not_end_in_time_is_answered_under_its_own_id() -> None:
    gate = Gate()
    async with http(serving(Demo().add("wait", gate))) as client:
        running = client.stateless("tools/call", modern(name="demo__wait"), id="old")
        await soon(gate.begun)
        await client.app.drain(0.01)
        answer = await running.whole()
        assert answer.json["id"] == "old"
        assert "shutting down" in answer.json["error"]["message"]

"""Many requests on one pipe: each gets one answer, its own, as soon as it is there."""

import asyncio
import contextlib
import contextvars

import pytest

from clawft.gateway import running_requests
from clawft.gateway.core import Gateway
from clawft.gateway.running_requests import RunningRequests
from clawft.model import Call, Reply, Tool
from tests.gateway.support import Demo, Gate, echo, modern, pipe, serving, soon, texts, turns
from tests.requirements import requirement

ERAS = pytest.mark.parametrize("era", ["handshake", "stateless"])


def call_params(era: str, name: str) -> dict[str, object]:
    return modern(name=name) if era == "stateless" else {"name": name}


@requirement("SHELL-12")
@ERAS
async def test_answers_go_out_as_they_finish(era: str) -> None:
    slow, slower = Gate(), Gate()
    async with pipe(serving(Demo().add("slow", slow).add("slower", slower).add("echo", echo))) as caller:
        if era == "handshake":
            await caller.initialize()
        first = caller.send("tools/call", call_params(era, "demo__slower"))
        second = caller.send("tools/call", call_params(era, "demo__slow"))
        assert texts(await caller.ask("tools/call", call_params(era, "demo__echo"))) == ["{}"]
        slow.open.set()
        assert texts(await caller.answer(second)) == ["through"]
        slower.open.set()
        assert texts(await caller.answer(first)) == ["through"]


@requirement("SHELL-12", "WIRE-05")
async def test_a_thousand_calls_each_get_their_own_answer_once() -> None:
    async def shuffled(call: Call) -> Reply:
        for _ in range(len(call.arguments) % 3):
            await asyncio.sleep(0)
        return Reply.text(call.arguments.decode())

    async with pipe(serving(Demo().add("t", shuffled))) as caller:
        await caller.initialize()
        ids = [caller.send("tools/call", {"name": "demo__t", "arguments": {"n": n}}) for n in range(1000)]
        answers = [await caller.answer(id) for id in ids]
        assert [texts(answer)[0] for answer in answers] == [f'{{"n": {n}}}' for n in range(1000)]
        assert caller.messages == []


@requirement("WIRE-04")
@ERAS
async def test_an_id_in_use_is_refused_and_the_first_request_lives(era: str) -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        if era == "handshake":
            await caller.initialize()
        caller.send("tools/call", call_params(era, "demo__wait"), id="same")
        await soon(gate.begun)
        assert (await caller.ask("tools/call", call_params(era, "demo__wait"), id="same"))["error"]["code"] == -32600
        gate.open.set()
        assert texts(await caller.answer("same")) == ["through"]
        assert texts(await caller.ask("tools/call", call_params(era, "demo__wait"), id="same")) == ["through"]


@requirement("WIRE-04")
@pytest.mark.parametrize("method", ["ping", "tools/list", "initialize", "logging/setLevel"])
async def test_an_id_in_use_is_refused_for_any_method(method: str) -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        await caller.initialize()
        caller.send("tools/call", {"name": "demo__wait"}, id="same")
        await soon(gate.begun)
        refused = await caller.ask(method, id="same")
        assert refused["error"]["code"] == -32600
        assert "in use" in refused["error"]["message"]
        gate.open.set()
        assert texts(await caller.answer("same")) == ["through"]
        assert caller.messages == []


@requirement("WIRE-04", "WIRE-05")
@ERAS
async def test_the_id_of_a_cancelled_request_is_free_while_its_tool_still_runs(era: str) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def stubborn(call: Call) -> Reply:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await ended.wait()
        await ended.wait()
        return Reply.text("too late")

    async with pipe(serving(Demo().add("stubborn", stubborn).add("echo", echo))) as caller:
        if era == "handshake":
            await caller.initialize()
        caller.send("tools/call", call_params(era, "demo__stubborn"), id="same")
        await soon(begun)
        caller.notify("notifications/cancelled", requestId="same")
        assert texts(await caller.ask("tools/call", call_params(era, "demo__echo"), id="same")) == ["{}"]
        assert len(caller.served.running) == 1
        ended.set()
        await turns(lambda: not len(caller.served.running))
        assert caller.messages == []


@requirement("SHELL-12")
async def test_one_and_its_string_are_two_ids() -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        await caller.initialize()
        for id in (50, "50"):
            caller.send("tools/call", {"name": "demo__wait"}, id=id)
        await soon(gate.begun)
        gate.open.set()
        assert texts(await caller.answer(50)) == texts(await caller.answer("50")) == ["through"]


@requirement("SHELL-12")
async def test_above_the_limit_the_answer_is_busy_at_once() -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        await caller.initialize()
        caller.served.running._limit = 3  # pyright: ignore[reportPrivateUsage]  # a thousand would only take longer
        running_ids = [caller.send("tools/call", {"name": "demo__wait"}) for _ in range(3)]
        refused = await caller.call("demo__wait")
        assert refused["error"]["code"] == -32603
        assert "busy" in refused["error"]["message"]
        gate.open.set()
        for id in running_ids:
            assert texts(await caller.answer(id)) == ["through"]
        assert texts(await caller.call("demo__wait")) == ["through"]


@requirement("SHELL-12")
def test_the_limit_has_a_name() -> None:
    assert running_requests.MAX_IN_FLIGHT == 1_024


# ── cancelling ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-12")
@ERAS
async def test_a_cancelled_call_stops_and_nothing_more_is_said(era: str) -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate).add("echo", echo))) as caller:
        if era == "handshake":
            await caller.initialize()
        id = caller.send("tools/call", call_params(era, "demo__wait"))
        await soon(gate.begun)
        caller.notify("notifications/cancelled", requestId=str(id))  # another id: its string
        caller.notify("notifications/cancelled", requestId=id, reason="changed my mind")
        await soon(gate.cancelled)
        assert "result" in await caller.ask("tools/call", call_params(era, "demo__echo"))
        assert caller.messages == []
        assert len(caller.served.running) == 0


@requirement("SHELL-12")
@ERAS
async def test_a_call_cancelled_before_it_began_leaves_nothing_behind(era: str) -> None:
    """Both lines can arrive in one read."""
    demo = Demo().add("echo", echo)
    async with pipe(serving(demo)) as caller:
        if era == "handshake":
            await caller.initialize()
        caller.send("tools/call", call_params(era, "demo__echo"), id="x")
        caller.notify("notifications/cancelled", requestId="x")
        assert texts(await caller.ask("tools/call", call_params(era, "demo__echo"), id="y")) == ["{}"]
        assert caller.messages == []
        assert len(caller.served.running) == 0
        assert texts(await caller.ask("tools/call", call_params(era, "demo__echo"), id="x")) == ["{}"]


@requirement("SHELL-12")
async def test_a_tool_that_will_not_be_cancelled_is_not_heard() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def stubborn(call: Call) -> Reply:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        ended.set()
        return Reply.text("I am still here")

    async with pipe(serving(Demo().add("stubborn", stubborn).add("echo", echo))) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "demo__stubborn"})
        await soon(begun)
        caller.notify("notifications/cancelled", requestId=id)
        await soon(ended)
        for _ in range(5):
            assert texts(await caller.call("demo__echo")) == ["{}"]
        assert caller.messages == []


@requirement("SHELL-12")
async def test_cancelling_one_call_does_not_touch_the_next() -> None:
    """Whoever runs the calls must not carry a cancellation from one to another."""
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate).add("echo", echo))) as caller:
        await caller.initialize()
        for _ in range(20):
            gate.begun.clear()
            gate.cancelled.clear()
            id = caller.send("tools/call", {"name": "demo__wait"})
            await soon(gate.begun)
            caller.notify("notifications/cancelled", requestId=id)
            assert texts(await caller.call("demo__echo")) == ["{}"]
            await soon(gate.cancelled)
        assert caller.messages == []


@requirement("SHELL-12")
async def test_what_a_call_sets_in_its_context_no_other_call_sees() -> None:
    seen: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="nothing")

    async def sets(call: Call) -> Reply:
        before = seen.get()
        seen.set(call.arguments.decode())
        await asyncio.sleep(0)
        return Reply.text(before)

    async with pipe(serving(Demo().add("sets", sets))) as caller:
        await caller.initialize()
        for n in range(10):
            assert texts(await caller.call("demo__sets", n=n)) == ["nothing"]


# ── draining ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-14")
async def test_a_running_call_may_finish_while_new_ones_are_refused() -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "demo__wait"})
        await soon(gate.begun)
        draining = asyncio.ensure_future(caller.served.running.drain(5))
        await asyncio.sleep(0)
        refused = await caller.call("demo__wait")
        assert "shutting down" in refused["error"]["message"]
        gate.open.set()
        assert texts(await caller.answer(id)) == ["through"]
        async with asyncio.timeout(5):
            await draining


@requirement("SHELL-14")
async def test_a_call_that_takes_too_long_ends_with_a_clear_error() -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "demo__wait"})
        await soon(gate.begun)
        async with asyncio.timeout(5):
            await caller.served.running.drain(0.01)
        assert "shutting down" in (await caller.answer(id))["error"]["message"]
        assert gate.cancelled.is_set()


@requirement("SHELL-14")
async def test_nothing_to_drain_is_drained_at_once() -> None:
    async with asyncio.timeout(1):
        await RunningRequests().drain(60)


@requirement("SHELL-13")
async def test_a_provider_that_breaks_does_not_hide_the_others() -> None:
    class Broken(Demo):
        def list_tools(self) -> list[Tool]:
            raise RuntimeError("no list today")

    served = Gateway()
    served.register(Demo("good").add("echo", echo))
    served.register(Broken("bad"))
    served.register(Demo("late").add("echo", echo))
    assert [entry.name for entry in served.tools.entries] == ["good__echo", "late__echo"]

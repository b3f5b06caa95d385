"""Calls that no task waits for: one answer each, the same guards, and the slow path for whatever needs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from clawft.errors import ExecutionFailed
from clawft.guard.audit import Audit
from clawft.guard.result import ResultGuard
from clawft.guard.security import Security
from clawft.model import Call, Next, Origin, Reply, ReplyReceiver, SentCall, Tool
from clawft.policy.command import CommandPolicy
from clawft.policy.url import UrlPolicy
from clawft.store.cut_results import CutResults
from tests.gateway.support import Demo, echo, pipe, serving, texts, turns
from tests.guard.support import Lines
from tests.requirements import requirement


class Slow:
    """A guard that is never sure at once."""

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return True

    async def __call__(self, call: Call, after: Next) -> Reply:
        return await after(call)


class Taken:
    """A call on its way: the test answers it."""

    def __init__(self, call: Call, receiver: ReplyReceiver) -> None:
        self.call = call
        self.receiver = receiver
        self.cancelled = False

    def cancel(self, details: bytes = b"") -> None:
        self.cancelled = True


class Starting(Demo):
    """Takes every call of its tools but those that are to take the slow path."""

    def __init__(self) -> None:
        super().__init__("quick")
        self.taken: list[Taken] = []
        self.takes: Callable[[Call], bool] = lambda call: True
        self.add("echo", echo)

    def start(self, call: Call, receiver: ReplyReceiver) -> SentCall | None:
        if not self.takes(call):
            return None
        self.taken.append(Taken(call, receiver))
        return self.taken[-1]


@requirement("GUARD-01", "GUARD-10")
async def test_the_answer_itself_ends_a_call_and_leaves_its_line() -> None:
    quick, lines = Starting(), Lines()
    audit = Audit(lines)
    async with pipe(serving(quick, guards=[audit])) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "quick__echo", "arguments": {"a": 1}})
        (taken,) = quick.taken
        assert taken.call.arguments == b'{"a": 1}'
        assert not caller.messages
        taken.receiver.finish_with(Reply.text("done"))
        assert texts(await caller.answer(id)) == ["done"]
        assert not len(caller.served.running)
    audit.close()
    (line,) = lines.all
    assert (line["tool"], line["outcome"], line["bytes_in"]) == ("quick__echo", "ok", len(b'{"a": 1}'))
    assert quick.called == []


async def test_replies_are_finished_as_on_the_long_way() -> None:
    quick = Starting()
    async with pipe(serving(quick, guards=[ResultGuard(CutResults(), limit=1_000)])) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "quick__echo"})
        quick.taken[0].receiver.finish_with(Reply.text("x" * 5_000 + "\u202e"))
        (text,) = texts(await caller.answer(id))
    assert "[truncated]" in text
    assert "\u202e" not in text


@requirement("GUARD-01")
@pytest.mark.parametrize(
    ("guard", "arguments"),
    [
        (Slow(), {}),
        (Security(CommandPolicy(), UrlPolicy()), {"path": "a\\b"}),
    ],
)
async def test_what_a_guard_has_to_look_at_goes_the_long_way(guard: Any, arguments: dict[str, Any]) -> None:
    quick = Starting()
    async with pipe(serving(quick, guards=[guard])) as caller:
        await caller.initialize()
        assert texts(await caller.call("quick__echo", **arguments))
    assert quick.called == ["echo"]
    assert not quick.taken


async def test_so_does_what_is_to_be_a_task() -> None:
    quick = Starting()
    async with pipe(serving(quick)) as caller:
        await caller.initialize("2025-06-18")
        await caller.call("quick__echo", {"task": {}})
    assert quick.called == ["echo"]


async def test_so_does_a_meta_that_is_none() -> None:
    quick = Starting()
    async with pipe(serving(quick)) as caller:
        await caller.initialize()
        answer = await caller.answer(caller.send("tools/call", {"name": "quick__echo", "_meta": [1]}))
    assert answer["error"]["code"] == -32602
    assert not quick.taken


@requirement("SESS-13")
async def test_progress_is_told_by_the_caller_s_token_until_the_answer() -> None:
    quick = Starting()
    async with pipe(serving(quick)) as caller:
        await caller.initialize()
        sent = {"name": "quick__echo", "_meta": {"progressToken": "mine", "x/y": 1}}
        id = caller.send("tools/call", sent)
        (taken,) = quick.taken
        assert json.loads(taken.call.meta) == sent["_meta"]
        taken.call.talk.progress(1, 2)
        taken.receiver.finish_with(Reply.text("done"))
        assert texts(await caller.answer(id)) == ["done"]
    told = [each["params"] for each in caller.messages if each.get("method") == "notifications/progress"]
    assert told == [{"progressToken": "mine", "progress": 1, "total": 2}]


async def test_so_does_what_the_provider_does_not_take() -> None:
    quick = Starting()
    quick.takes = lambda call: False
    async with pipe(serving(quick)) as caller:
        await caller.initialize()
        assert texts(await caller.call("quick__echo", a=1)) == ['{"a": 1}']
    assert quick.called == ["echo"]


@requirement("GUARD-10")
@pytest.mark.parametrize(
    ("fails", "outcome"), [(False, "ok"), (True, "error")], ids=["gives a reply", "fails as a tool does"]
)
async def test_a_call_that_needs_more_than_its_answer_goes_on_in_a_worker(fails: bool, outcome: str) -> None:
    quick, lines = Starting(), Lines()
    audit = Audit(lines)

    async def rest(call: Call) -> Reply:
        await asyncio.sleep(0)
        if fails:
            raise ExecutionFailed("the server is gone")
        return Reply.text("at last")

    async with pipe(serving(quick, guards=[audit])) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "quick__echo"})
        quick.taken[0].receiver.continue_with(rest)
        answer = await caller.answer(id)
    audit.close()
    assert answer["result"].get("isError", False) is fails
    (line,) = lines.all
    assert line["outcome"] == outcome


@requirement("GUARD-10")
async def test_a_cancelled_call_has_no_answer_but_a_line() -> None:
    quick, lines = Starting(), Lines()
    audit = Audit(lines)
    async with pipe(serving(quick, guards=[audit])) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "quick__echo"})
        caller.notify("notifications/cancelled", requestId=id)
        caller.notify("notifications/cancelled", requestId=id)
        assert quick.taken[0].cancelled
        assert not len(caller.served.running)
        assert await caller.ask("ping")  # nothing came before its answer
        assert not caller.messages
    audit.close()
    assert [line["outcome"] for line in lines.all] == ["cancelled"]


async def test_one_that_goes_on_can_still_be_cancelled() -> None:
    quick = Starting()
    never = asyncio.Event()
    begun = asyncio.Event()

    async def rest(call: Call) -> Reply:
        begun.set()
        await never.wait()
        raise AssertionError("it was cancelled")

    async with pipe(serving(quick)) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "quick__echo"})
        quick.taken[0].receiver.continue_with(rest)
        await begun.wait()
        caller.notify("notifications/cancelled", requestId=id)
        await turns(lambda: not len(caller.served.running))
        assert not caller.messages


async def test_and_before_a_worker_has_taken_it() -> None:
    quick = Starting()

    async def rest(call: Call) -> Reply:
        raise AssertionError("it was cancelled")

    async with pipe(serving(quick)) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "quick__echo"})
        quick.taken[0].receiver.continue_with(rest)
        caller.notify("notifications/cancelled", requestId=id)
        await turns(lambda: not len(caller.served.running))
        assert not caller.messages


async def test_an_id_in_use_is_refused_and_the_first_call_is_answered() -> None:
    quick = Starting()
    async with pipe(serving(quick)) as caller:
        await caller.initialize()
        caller.send("tools/call", {"name": "quick__echo"}, id=7)
        refused = await caller.ask("tools/call", {"name": "quick__echo"}, id=7)
        assert "in use" in refused["error"]["message"]
        assert len(quick.taken) == 1
        quick.taken[0].receiver.finish_with(Reply.text("first"))
        assert texts(await caller.answer(7)) == ["first"]


async def test_whatever_breaks_there_is_one_answer() -> None:
    class Breaking(Slow):
        def finish(self, call: Call, reply: Reply) -> Reply:
            raise RuntimeError("broken")

    quick = Starting()
    async with pipe(serving(quick, guards=[Breaking()])) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "quick__echo"})
        quick.taken[0].receiver.finish_with(Reply.text("x"))
        assert (await caller.answer(id))["error"]["message"] == "internal error"


async def test_the_end_waits_for_calls_on_their_way_and_says_what_became_of_them() -> None:
    quick = Starting()
    async with pipe(serving(quick)) as caller:
        await caller.initialize()
        first, second = (caller.send("tools/call", {"name": "quick__echo"}) for _ in range(2))
        drained = asyncio.create_task(caller.served.running.drain(0.05))
        await asyncio.sleep(0)
        quick.taken[0].receiver.finish_with(Reply.text("in time"))
        await drained
        assert texts(await caller.answer(first)) == ["in time"]
        assert "shutting down" in (await caller.answer(second))["error"]["message"]
        assert quick.taken[1].cancelled

"""Calls that outlive their request."""

import asyncio
import re
import time
from types import SimpleNamespace
from typing import Any

import pytest

from clawft.errors import ProtocolFailure
from clawft.gateway.core import Gateway
from clawft.gateway.task import tasks
from clawft.link.share import memory_budget
from clawft.link.share.memory_budget import MemoryBudget
from clawft.model import Call, Caller, Grant, Question, Reply
from clawft.wire.meta import SUBSCRIPTION, TASKS
from tests.gateway.asking import ADA, FORM
from tests.gateway.support import WITH_TASKS, Demo, Gate, Pipe, echo, modern, pipe, serving, soon, texts, turns
from tests.requirements import requirement

ABLE: dict[str, Any] = {**WITH_TASKS, "elicitation": {}}


async def breaks(call: Call) -> Reply:
    raise ProtocolFailure("the server answered nonsense")


async def asks(call: Call) -> Reply:
    answer = (await call.talk.ask({"who": Question("elicitation/create", FORM)}))["who"]
    return Reply.text(f"hello {answer['content']['name']}")


async def asks_then_detaches(call: Call) -> Reply:
    answer = (await call.talk.ask({"who": Question("elicitation/create", FORM)}))["who"]
    call.talk.detach()
    return Reply.text(f"hello {answer['content']['name']}")


def server(gate: Gate) -> Gateway:
    demo = Demo().add("job", gate, task="optional").add("must", gate, task="required").add("plain", echo)
    demo.add("breaks", breaks, task="optional").add("asks", asks, task="optional").add("later", asks_then_detaches)
    return serving(demo)


async def started(caller: Pipe, name: str = "demo__job", **params: Any) -> dict[str, Any]:
    result = (await caller.call(name, modern(ABLE, **params)))["result"]
    assert result["resultType"] == "task"
    return result


async def about(caller: Pipe, task: str) -> dict[str, Any]:
    return (await caller.ask("tasks/get", modern(ABLE, taskId=task)))["result"]


async def until(caller: Pipe, task: str, status: str) -> dict[str, Any]:
    async with asyncio.timeout(5):
        while (found := await about(caller, task))["status"] != status:  # noqa: ASYNC110 - polling is the point
            await asyncio.sleep(0)
    return found


@requirement("RES-12")
async def test_a_task_is_started_polled_and_done() -> None:
    gate = Gate()
    async with pipe(server(gate)) as caller:
        task = await started(caller)
        assert task["status"] == "working"
        assert {"taskId", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"} <= task.keys()
        assert (await about(caller, task["taskId"]))["status"] == "working"
        gate.open.set()
        done = await until(caller, task["taskId"], "completed")
        assert done["resultType"] == "complete"
        assert texts(done) == ["through"]
        assert done["createdAt"] == task["createdAt"]


@requirement("RES-12")
async def test_who_does_not_know_tasks_waits_or_is_told_what_it_lacks() -> None:
    gate = Gate()
    gate.open.set()
    async with pipe(server(gate)) as caller:
        assert texts(await caller.call("demo__job", modern())) == ["through"]
        error = (await caller.call("demo__must", modern()))["error"]
        assert error["code"] == -32021
        assert error["data"]["requiredCapabilities"] == {"extensions": {TASKS: {}}}


@requirement("RES-12")
async def test_other_tools_answer_at_once() -> None:
    async with pipe(server(Gate())) as caller:
        assert texts(await caller.call("demo__plain", modern(ABLE))) == ["{}"]


@requirement("RES-12")
async def test_a_protocol_error_fails_a_task_and_a_tools_own_error_completes_it() -> None:
    async def says_no(call: Call) -> Reply:
        return Reply.error("no")

    served = server(Gate())
    served.register(Demo("more").add("no", says_no, task="optional"))
    async with pipe(served) as caller:
        failed = await until(caller, (await started(caller, "demo__breaks"))["taskId"], "failed")
        assert failed["error"] == {"code": -32603, "message": "the server answered nonsense"}
        done = await until(caller, (await started(caller, "more__no"))["taskId"], "completed")
        assert done["result"]["isError"] is True


@requirement("RES-12")
async def test_a_cancelled_task_stops_and_stays_cancelled() -> None:
    gate = Gate()
    async with pipe(server(gate)) as caller:
        task = (await started(caller))["taskId"]
        await soon(gate.begun)
        for _ in range(2):
            answer = await caller.ask("tasks/cancel", modern(ABLE, taskId=task))
            assert answer["result"]["resultType"] == "complete"
        await soon(gate.cancelled)
        assert (await about(caller, task))["status"] == "cancelled"


@requirement("RES-12")
async def test_the_end_of_the_request_is_not_the_end_of_the_task() -> None:
    gate = Gate()
    async with pipe(server(gate)) as caller:
        id = caller.send("tools/call", modern(ABLE, name="demo__job"))
        task = (await caller.answer(id))["result"]["taskId"]
        caller.notify("notifications/cancelled", requestId=id)
        gate.open.set()
        await until(caller, task, "completed")


@requirement("RES-12")
async def test_a_task_asks_and_takes_the_answers_that_fit() -> None:
    async with pipe(server(Gate())) as caller:
        task = (await started(caller, "demo__asks"))["taskId"]
        waiting = await until(caller, task, "input_required")
        assert list(waiting["inputRequests"]) == ["who"]
        for useless in ({"other": ADA}, {"who": {"action": "accept"}}, {}):
            answer = await caller.ask("tasks/update", modern(ABLE, taskId=task, inputResponses=useless))
            assert answer["result"]["resultType"] == "complete"
            assert (await about(caller, task))["status"] == "input_required"
        await caller.ask("tasks/update", modern(ABLE, taskId=task, inputResponses={"who": ADA}))
        assert texts(await until(caller, task, "completed")) == ["hello ada"]


@requirement("RES-12")
async def test_answers_that_come_after_the_end_are_ignored() -> None:
    async with pipe(server(Gate())) as caller:
        task = (await started(caller, "demo__asks"))["taskId"]
        await until(caller, task, "input_required")
        await caller.ask("tasks/cancel", modern(ABLE, taskId=task))
        answer = await caller.ask("tasks/update", modern(ABLE, taskId=task, inputResponses={"who": ADA}))
        assert "result" in answer
        assert (await about(caller, task))["status"] == "cancelled"


@requirement("RES-12")
async def test_a_tool_may_ask_first_and_then_go_on_as_a_task() -> None:
    async with pipe(server(Gate())) as caller:
        first = (await caller.call("demo__later", modern(ABLE)))["result"]
        assert first["resultType"] == "input_required"
        task = await started(caller, "demo__later", inputResponses={"who": ADA}, requestState=first["requestState"])
        assert texts(await until(caller, task["taskId"], "completed")) == ["hello ada"]


@requirement("RES-12")
async def test_tasks_are_their_owners_alone() -> None:
    served = server(Gate())
    async with pipe(served, Caller("ada")) as ada, pipe(served, Caller("bob")) as bob:
        task = (await started(ada))["taskId"]
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            theirs = (await bob.ask(method, modern(ABLE, taskId=task, inputResponses={})))["error"]
            unknown = (await bob.ask(method, modern(ABLE, taskId="x" * len(task), inputResponses={})))["error"]
            assert theirs["code"] == unknown["code"] == -32602
            assert theirs["message"].replace(task, "") == unknown["message"].replace("x" * len(task), "")
        assert (await about(ada, task))["status"] == "working"


@requirement("RES-12", "GUARD-07")
async def test_with_a_token_that_may_not_see_a_tool_nobody_sees_its_tasks() -> None:
    served = server(Gate())
    few = Caller("ada", grant=Grant(allow=("demo__plain",)))
    async with pipe(served, Caller("ada")) as ada, pipe(served, few) as weaker, pipe(served, few) as older:
        task = (await started(ada, "demo__asks"))["taskId"]
        await until(ada, task, "input_required")
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            refused = await weaker.ask(method, modern(ABLE, taskId=task, inputResponses={"who": ADA}))
            assert refused["error"] == {"code": -32602, "message": f"unknown task: {task}"}
        await older.initialize()
        assert (await older.ask("tasks/list"))["result"] == {"tasks": []}
        assert "unknown task" in (await older.ask("tasks/result", {"taskId": task}))["error"]["message"]
        assert (await about(ada, task))["status"] == "input_required"


@requirement("RES-12")
async def test_other_rights_that_lead_to_the_same_tool_lead_to_its_tasks() -> None:
    served = server(Gate())
    async with (
        pipe(served, Caller("ada")) as ada,
        pipe(served, Caller("ada", grant=Grant(allow=("demo__job",)))) as too,
    ):
        task = (await started(ada))["taskId"]
        assert (await about(too, task))["status"] == "working"


@requirement("RES-12")
@pytest.mark.parametrize("jump", [-31_536_000, -600, 600, 31_536_000])
async def test_a_clock_that_jumps_neither_ends_a_task_nor_keeps_it(
    monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    async with pipe(server(Gate())) as caller:
        waiting = (await started(caller, "demo__asks"))["taskId"]
        await until(caller, waiting, "input_required")
        monkeypatch.setattr(tasks, "time", SimpleNamespace(time=lambda: time.time() + jump, monotonic=time.monotonic))
        await started(caller)
        assert (await about(caller, waiting))["status"] == "input_required"
        late = SimpleNamespace(time=time.time, monotonic=lambda: time.monotonic() + 1 + tasks.TTL_MS / 1000)
        monkeypatch.setattr(tasks, "time", late)
        await started(caller)
        assert "error" in await caller.ask("tasks/get", modern(ABLE, taskId=waiting))


@requirement("RES-12")
async def test_what_a_task_asks_at_once_is_answered_one_by_one() -> None:
    async def asks_both(call: Call) -> Reply:
        question = {"who": Question("elicitation/create", FORM)}
        given = await asyncio.gather(call.talk.ask(question), call.talk.ask(question))
        return Reply.text(" ".join(each["who"]["content"]["name"] for each in given))

    async with pipe(serving(Demo().add("both", asks_both, task="optional"))) as caller:
        task = (await started(caller, "demo__both"))["taskId"]
        asked = (await until(caller, task, "input_required"))["inputRequests"]
        answers = {key: {"action": "accept", "content": {"name": key}} for key in asked}
        await caller.ask("tasks/update", modern(ABLE, taskId=task, inputResponses=answers))
        assert texts(await until(caller, task, "completed")) == ["who who_1"]


@requirement("RES-12")
async def test_a_listener_hears_of_its_own_tasks() -> None:
    gate = Gate()
    async with pipe(server(gate)) as caller:
        task = (await started(caller))["taskId"]
        caller.send("subscriptions/listen", modern(ABLE, notifications={"taskIds": [task]}), id="l")
        await caller.notice("notifications/subscriptions/acknowledged")
        gate.open.set()
        heard = (await caller.notice("notifications/tasks"))["params"]
        assert (heard["taskId"], heard["status"], heard["_meta"][SUBSCRIPTION]) == (task, "completed", "l")


@requirement("RES-12")
async def test_tasks_are_bounded_and_those_nobody_answers_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MAX_TASKS", 2)
    async with pipe(server(Gate())) as caller:
        waiting = [(await started(caller, "demo__asks"))["taskId"] for _ in range(2)]
        for task in waiting:
            await until(caller, task, "input_required")
        refused = (await caller.call("demo__job", modern(ABLE)))["error"]
        assert refused["code"] == -32603
        assert not re.search(r"\d", refused["message"]), "how many others have is theirs to know"
        monkeypatch.setattr(tasks, "TTL_MS", -1_000)
        assert (await started(caller))["status"] == "working"
        gone = await caller.ask("tasks/get", modern(ABLE, taskId=waiting[0]))
        assert gone["error"]["code"] == -32602


@requirement("RES-12", "QUAL-12")
async def test_one_person_s_tasks_leave_room_for_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MAX_OF_ONE", 2)
    served = server(Gate())
    async with pipe(served, Caller("greedy")) as greedy, pipe(served, Caller("bob")) as bob:
        for _ in range(2):
            await started(greedy)
        assert "2 of your tasks" in (await greedy.call("demo__job", modern(ABLE)))["error"]["message"]
        assert (await started(bob))["status"] == "working"


@requirement("RES-12", "QUAL-12")
async def test_one_person_s_results_push_out_their_own_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_budget, "SPARED_BYTES", 0)
    monkeypatch.setattr(tasks, "MEMORY_BUDGET", MemoryBudget(300))
    served = server(gate := Gate())
    gate.open.set()
    async with pipe(served, Caller("greedy")) as greedy, pipe(served, Caller("bob")) as bob:
        modest = (await started(bob))["taskId"]
        await until(bob, modest, "completed")
        mine = [(await started(greedy))["taskId"] for _ in range(20)]
        await until(greedy, mine[-1], "completed")
        assert (await about(bob, modest))["status"] == "completed"
        assert "error" in await greedy.ask("tasks/get", modern(ABLE, taskId=mine[0]))


@requirement("SHELL-14")
async def test_closing_ends_every_task() -> None:
    gate = Gate()
    served = server(gate)
    async with pipe(served) as caller:
        await started(caller)
        await soon(gate.begun)
        await served.tasks.close()
        await turns(gate.cancelled.is_set)

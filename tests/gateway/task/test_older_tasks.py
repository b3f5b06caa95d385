"""Tasks of 2025-11-25: what an agent asks for with one."""

from collections.abc import Sequence
from typing import Any

import pytest

from clawft.errors import ClawftError, LinkClosed
from clawft.gateway.task import tasks
from clawft.model import Call, Caller, Grant, Prompt, Reply, TaskStanding
from clawft.model.call import BackgroundTalk
from tests.gateway.support import Demo, Gate, Late, Pipe, pipe, serving
from tests.requirements import requirement

pytestmark = requirement("RES-12")


class Prompting(Demo):
    """With a prompt of the same name as its tool."""

    def list_prompts(self) -> Sequence[Prompt]:
        return [Prompt("job", "the prompt")]

    async def get_prompt(self, call: Call) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "the prompt"}}]}


class Absent(Demo):
    """The provider of a server that has failed."""

    def __init__(self) -> None:
        super().__init__("absent")

    def absence(self) -> ClawftError:
        return LinkClosed("absent: it failed to start")

    def arrival(self) -> None:
        return None


async def begun(caller: Pipe, task: Any) -> dict[str, Any]:
    return await caller.ask("tools/call", {"name": "demo__job", "arguments": {}, "task": task})


@pytest.mark.parametrize(
    ("wish", "told"),
    [({}, tasks.TTL_MS), ({"ttl": 60_000}, 60_000), ({"ttl": None}, tasks.TTL_MS), ({"ttl": 10**12}, tasks.TTL_MS)],
)
async def test_an_agent_hears_how_long_its_task_is_kept(wish: Any, told: int) -> None:
    async with pipe(serving(Demo().add("job", Gate(), task="optional"))) as caller:
        await caller.initialize()
        assert (await begun(caller, wish))["result"]["task"]["ttl"] == told


@pytest.mark.parametrize("wish", [5, {"ttl": -1}, {"ttl": "long"}, {"ttl": 1e300}])
async def test_a_wish_that_is_none_is_refused(wish: Any) -> None:
    async with pipe(serving(Demo().add("job", Gate(), task="optional"))) as caller:
        await caller.initialize()
        assert (await begun(caller, wish))["error"]["code"] == -32602


@pytest.mark.parametrize("cursor", ["", "next", 5])
async def test_a_list_of_tasks_has_no_cursor_that_somebody_could_bring(cursor: Any) -> None:
    async with pipe(serving()) as caller:
        await caller.initialize()
        assert (await caller.ask("tasks/list", {"cursor": cursor}))["error"]["code"] == -32602
        assert (await caller.ask("tasks/list", {"cursor": None}))["result"] == {"tasks": []}


async def test_only_a_tool_can_be_a_task() -> None:
    served = Prompting().add("job", Gate(), task="optional")
    async with pipe(serving(served)) as caller:
        await caller.initialize()
        got = await caller.ask("prompts/get", {"name": "demo__job", "task": {}})
        assert got["result"]["messages"][0]["content"]["text"] == "the prompt"
        assert served.called == []


@pytest.mark.parametrize("name", ["demo__nosuch", "demo__secret", "nowhere__x"])
async def test_a_task_of_no_tool_is_refused_like_a_call_of_it(name: str) -> None:
    demo = Demo().add("job", Gate(), task="optional").add("secret", Gate(), task="optional")
    async with pipe(serving(demo), Caller(grant=Grant(deny=("*secret",)))) as caller:
        await caller.initialize()
        called = await caller.ask("tools/call", {"name": name})
        as_task = await caller.ask("tools/call", {"name": name, "task": {}})
        assert as_task["error"] == called["error"]
        assert called["error"]["code"] == -32602
        assert (await caller.ask("tasks/list"))["result"] == {"tasks": []}
        assert demo.called == []


async def test_a_task_of_a_tool_whose_server_is_starting_is_begun_with_it() -> None:
    class Arriving(Late):
        async def wait_for_next(self) -> None:
            await super().wait_for_next()
            gateway.register(Demo().add("job", Gate(), task="optional"))

    gateway = serving()
    gateway.pending.servers = Arriving()
    async with pipe(gateway) as caller:
        await caller.initialize()
        assert (await begun(caller, {}))["result"]["task"]["status"] == "working"


async def test_a_task_of_an_absent_server_ends_with_its_reason() -> None:
    async with pipe(serving(Absent())) as caller:
        await caller.initialize()
        task = (await caller.ask("tools/call", {"name": "absent__job", "task": {}}))["result"]["task"]["taskId"]
        told = (await caller.ask("tasks/result", {"taskId": task}))["result"]
        assert told["isError"] is True
        assert "it failed to start" in told["content"][0]["text"]


async def test_what_is_said_of_a_task_is_said_once() -> None:
    async def works(call: Call) -> Reply:
        assert isinstance(call.talk, BackgroundTalk)
        for message in ("reading", "reading", "writing"):
            call.talk.stands(TaskStanding("working", message))
        call.talk.stands(TaskStanding("completed", "written"))
        return Reply.text("done")

    async with pipe(serving(Demo().add("job", works, task="optional"))) as caller:
        await caller.initialize()
        await begun(caller, {})
        heard = [(await caller.notice("notifications/tasks/status"))["params"] for _ in range(3)]
        told = [(task["status"], task["statusMessage"]) for task in heard]
        assert told == [("working", "reading"), ("working", "writing"), ("completed", "written")]
        assert [message for message in caller.messages if "method" in message] == []

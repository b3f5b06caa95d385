"""Tasks of 2025-11-25: what an agent asks for with one."""

from collections.abc import Sequence
from typing import Any

import pytest

from clawft.gateway.task import tasks
from clawft.model import Call, Prompt, Reply, TaskStanding
from clawft.model.call import BackgroundTalk
from tests.gateway.support import Demo, Gate, Pipe, pipe, serving
from tests.requirements import requirement

pytestmark = requirement("RES-12")


class Prompting(Demo):
    """With a prompt of the same name as its tool."""

    def list_prompts(self) -> Sequence[Prompt]:
        return [Prompt("job", "the prompt")]

    async def get_prompt(self, call: Call) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "the prompt"}}]}


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

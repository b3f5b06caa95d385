"""Tasks of both kinds, the extension of 2026-07-28 and the experiment of 2025-11-25, from and to either side."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.matrix.agents import META, TASKS, Agent
from tests.matrix.cells import Cell, cells
from tests.matrix.houses import Houses, connected
from tests.matrix.peer.jobs import POLL_MS, TTL_MS
from tests.requirements import requirement

pytestmark = [pytest.mark.slow, requirement("RES-12")]

EXTENSION: dict[str, Any] = {"extensions": {TASKS: {}}}
ADA = {"action": "accept", "content": {"name": "ada"}}


def capabilities(cell: Cell, **more: Any) -> dict[str, Any]:
    return {**more, **(EXTENSION if cell.agent == "stateless" else {})}


def start(agent: Agent, tool: str = "job", **arguments: Any) -> int:
    wish = {"task": {"ttl": 60_000}} if agent.era == "handshake" else {}
    return agent.start("tools/call", {"name": tool, "arguments": arguments, **wish})


async def begun(agent: Agent, tool: str = "job", **arguments: Any) -> str:
    """The id of a task."""
    result = (await agent.answer(start(agent, tool, **arguments)))["result"]
    if agent.era == "stateless":
        assert result["resultType"] == "task"
        assert isinstance(result["ttlMs"], int)
        return result["taskId"]
    assert isinstance(result["task"]["ttl"], int)
    return result["task"]["taskId"]


async def ended(agent: Agent, id: str) -> dict[str, Any]:
    return await until(agent, id, lambda task: task["status"] in ("completed", "failed", "cancelled"))


async def until(agent: Agent, id: str, fits: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The task, once it is like this."""
    async with asyncio.timeout(20):
        while not fits(task := await agent.result("tasks/get", taskId=id)):  # noqa: ASYNC110 - polling is what is tested
            await asyncio.sleep(0.01)
        return task


async def outcome(agent: Agent, id: str) -> dict[str, Any]:
    """The result of the task, or its error, in the form of the era."""
    if agent.era == "handshake":
        answer = await agent.ask("tasks/result", taskId=id)
        return {"error": answer["error"]} if "error" in answer else answer["result"]
    task = await ended(agent, id)
    return {"error": task["error"]} if "error" in task else task["result"]


async def marks(agent: Agent) -> list[str]:
    return json.loads(await agent.say("marks"))


@cells("task: begun, polled, result")
async def test_a_call_becomes_a_task_and_its_result_is_fetched(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, **capabilities(cell)) as agent:
        id = await begun(agent, token=f"done-{cell}", gate=f"gate-{cell}")
        assert (await agent.result("tasks/get", taskId=id))["status"] == "working"
        await agent.say("finish", gate=f"gate-{cell}")
        result = await outcome(agent, id)
        assert result["content"][0]["text"] == f"done-{cell}"
        assert (await ended(agent, id))["status"] == "completed"
        if cell.agent == "handshake":
            assert result["_meta"][META + "related-task"] == {"taskId": id}
            assert id in [task["taskId"] for task in (await agent.result("tasks/list"))["tasks"]]


@cells("task: what its server says of it")
async def test_what_a_server_says_of_its_task_is_told(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, **capabilities(cell)) as agent:
        for tool in ("job", "long_job"):
            name = f"told-{tool}-{cell}"
            id = await begun(agent, tool, token=name, gate=name)
            task = await until(agent, id, lambda task: task.get("statusMessage") == "working, says the server")
            names = ("ttlMs", "pollIntervalMs") if cell.agent == "stateless" else ("ttl", "pollInterval")
            assert [task[name] for name in names] == [TTL_MS, POLL_MS]
            await agent.say("finish", gate=name)
            assert (await ended(agent, id))["statusMessage"] == "completed, says the server"
            if cell.agent == "handshake":
                told = "working, says the server", "completed, says the server"
                for message in told:
                    await agent.notice(
                        "notifications/tasks/status",
                        lambda task, message=message, id=id: (task["taskId"], task["statusMessage"]) == (id, message),
                    )
            if cell.agent == cell.server == "handshake":
                assert f"keep {name} for 60000" in await marks(agent)


@cells("task: a result that is an error")
async def test_a_tool_that_fails_in_its_task(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, **capabilities(cell)) as agent:
        result = await outcome(agent, await begun(agent, token="no", outcome="error"))
        assert result["isError"] is True


@cells("task: an error of the protocol")
async def test_a_call_that_breaks_in_its_task_says_why(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, **capabilities(cell)) as agent:
        broken = {"code": -32055, "message": "it broke", "data": {"why": "asked to"}}
        for tool in ("job", "long_job"):
            assert await outcome(agent, await begun(agent, tool, outcome="break")) == {"error": broken}


@cells("task: cancelled")
async def test_a_cancelled_task_is_cancelled_at_the_server(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, **capabilities(cell)) as agent:
        token = f"cancel-{cell}"
        id = await begun(agent, "long_job", token=token, gate=f"never-{cell}")
        assert (await agent.result("tasks/get", taskId=id))["status"] == "working"
        async with asyncio.timeout(20):  # the gateway may still be on its way to the server
            while f"began {token}" not in await marks(agent):
                continue
        await agent.result("tasks/cancel", taskId=id)
        assert (await ended(agent, id))["status"] == "cancelled"
        async with asyncio.timeout(20):
            while f"cancelled {token}" not in await marks(agent):
                continue  # asking takes its time


@cells("task: cancelled by its server")
async def test_a_task_that_its_server_cancels_is_cancelled(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, **capabilities(cell)) as agent:
        for tool in ("job", "long_job"):
            task = await ended(agent, await begun(agent, tool, outcome="cancel"))
            assert (task["status"], task["statusMessage"]) == ("cancelled", "cancelled, says the server")


@cells("task: pushed changes")
async def test_changes_of_a_task_are_told(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, **capabilities(cell)) as agent:
        id = await begun(agent, token="pushed", gate=f"push-{cell}")
        await agent.watch(tasks=[id])
        await agent.say("finish", gate=f"push-{cell}")
        method = "notifications/tasks" if cell.agent == "stateless" else "notifications/tasks/status"
        heard = await agent.notice(method, lambda told: told["taskId"] == id and told["status"] == "completed")
        if cell.agent == "stateless":
            assert heard.params["result"]["content"][0]["text"] == "pushed"
        else:
            assert "result" not in heard.params


@cells("task: a question on the way")
async def test_a_task_that_asks(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, **capabilities(cell, elicitation={"form": {}})) as agent:
        id = await begun(agent, "long_job" if cell.server == "stateless" else "job", ask=True)
        if cell.agent == "stateless":
            async with asyncio.timeout(20):
                while (task := await agent.result("tasks/get", taskId=id))["status"] != "input_required":
                    continue  # asking takes its time
            ((key, asked),) = task["inputRequests"].items()
            assert asked["method"] == "elicitation/create"
            await agent.result("tasks/update", taskId=id, inputResponses={key: ADA})
        else:
            waiting = agent.start("tasks/result", {"taskId": id})
            asked = await agent.notice("elicitation/create")
            assert asked.params["_meta"][META + "related-task"] == {"taskId": id}
            agent.line.send({"jsonrpc": "2.0", "id": asked.id, "result": ADA})
            await agent.answer(waiting)
        assert (await outcome(agent, id))["content"][0]["text"] == "hello ada"


@cells("task, for an agent without tasks")
async def test_an_agent_without_tasks_gets_the_result_as_if_there_were_none(
    cell: Cell, houses: Houses, tmp_path: Path
) -> None:
    async with connected(cell, houses, tmp_path, revision="2025-06-18") as agent:
        result = await agent.call("long_job", token=f"polled-{cell}")
        assert result["content"][0]["text"] == f"polled-{cell}"
        assert META + "related-task" not in result.get("_meta", {})
        assert await agent.say("job", token="at once") == "at once"
        listed = {tool["name"]: tool for tool in (await agent.result("tools/list"))["tools"]}
        assert "execution" not in listed["long_job"]
        id = agent.start_call("long_job", token=f"left-{cell}", gate=f"never-{cell}")
        async with asyncio.timeout(20):
            while f"began left-{cell}" not in await marks(agent):
                continue  # asking takes its time
        agent.cancel(id)
        async with asyncio.timeout(20):
            while f"cancelled left-{cell}" not in await marks(agent):
                continue


ASKING = "task with a question, for an agent without tasks"
FORM: dict[str, Any] = {"form": {}}


@cells(ASKING, agents=["handshake"])
async def test_a_task_that_asks_an_agent_of_sessions(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, revision="2025-06-18", elicitation={}) as agent:
        id = agent.start_call("long_job", ask=True)
        asked = await agent.notice("elicitation/create")
        agent.line.send({"jsonrpc": "2.0", "id": asked.id, "result": ADA})
        assert (await agent.answer(id))["result"]["content"][0]["text"] == "hello ada"


@cells(ASKING, agents=["stateless"], servers=["stateless"])
async def test_a_task_that_asks_is_gone_on_with_by_the_next_request(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, elicitation=FORM) as agent:
        asked = await agent.call("long_job", ask=True)
        assert asked["resultType"] == "input_required"
        answers = {"inputResponses": {"name": ADA}, "requestState": asked["requestState"]}
        done = await agent.result("tools/call", name="long_job", arguments={"ask": True}, **answers)
        assert done["content"][0]["text"] == "hello ada"


@cells(ASKING, agents=["stateless"], servers=["handshake"], outcome="refused")
async def test_a_task_that_nobody_could_come_back_to_is_told_so(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, elicitation=FORM) as agent:
        assert "cannot follow the task that asks" in await agent.say("long_job", ask=True)


@cells("task: methods the era lacks", outcome="refused")
async def test_methods_of_the_other_kind_are_unknown(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path, **capabilities(cell)) as agent:
        methods = ("tasks/list", "tasks/result") if cell.agent == "stateless" else ("tasks/update",)
        for method in methods:
            assert (await agent.ask(method, taskId="x", inputResponses={}))["error"]["code"] == -32601
        assert (await agent.ask("tasks/get", taskId="weft.x"))["error"]["code"] == -32602

"""The tasks of a real server of 2025-11-25, followed by agents of both kinds and by one that knows none."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests import peers
from tests.matrix.agents import PATIENCE_S, TASKS, Agent
from tests.matrix.cells import Era
from tests.matrix.houses import over_pipe
from tests.requirements import requirement

pytestmark = [pytest.mark.slow, requirement("RES-12")]

TOOL = "simulate-research-query"
FORM: dict[str, Any] = {"elicitation": {"form": {}}}
CLARIFIED = {"action": "accept", "content": {"interpretation": "technical"}}


def behind() -> list[str]:
    return [*peers.bin("mcp-server-everything"), "stdio"]


async def test_the_experiment_from_end_to_end_with_a_question(tmp_path: Path) -> None:
    agent = Agent("handshake", FORM)
    async with over_pipe(agent, behind(), tmp_path):
        await agent.open("2025-11-25")
        await agent.ready()
        asked_for = {"name": TOOL, "arguments": {"topic": "python", "ambiguous": True}, "task": {"ttl": 60_000}}
        id = (await agent.result("tools/call", **asked_for))["task"]["taskId"]
        waiting = agent.start("tasks/result", {"taskId": id})
        asked = await agent.notice("elicitation/create")
        agent.line.send({"jsonrpc": "2.0", "id": asked.id, "result": CLARIFIED})
        assert "technical" in (await agent.answer(waiting))["result"]["content"][0]["text"]


async def test_the_experiment_followed_by_the_extension_with_a_question(tmp_path: Path) -> None:
    agent = Agent("stateless", {**FORM, "extensions": {TASKS: {}}})
    async with over_pipe(agent, behind(), tmp_path):
        await agent.open("")
        await agent.ready()
        id = (await agent.call(TOOL, topic="python", ambiguous=True))["taskId"]
        task = await until(agent, id, "input_required")
        ((key, _),) = task["inputRequests"].items()
        await agent.result("tasks/update", taskId=id, inputResponses={key: CLARIFIED})
        task = await until(agent, id, "completed")
        assert "technical" in task["result"]["content"][0]["text"]


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_tool_that_must_be_a_task_is_an_ordinary_one_for_an_agent_without(era: Era, tmp_path: Path) -> None:
    agent = Agent(era)
    async with over_pipe(agent, behind(), tmp_path):
        await agent.open("2025-06-18")
        await agent.ready()
        assert "Research Report" in await agent.say(TOOL, topic="python")


async def until(agent: Agent, id: str, status: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        while (task := await agent.result("tasks/get", taskId=id))["status"] != status:  # noqa: ASYNC110 - polling is what is tested
            await asyncio.sleep(0.05)
        return task

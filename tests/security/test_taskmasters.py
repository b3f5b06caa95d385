"""Servers that make tasks of calls and lie about them; agents that follow the task, and agents that know of none."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from clawft.upstream.session.session import MAX_ROUNDS
from tests.requirements import requirement
from tests.security.siege import honest
from tests.security.test_hostile_servers import is_error, said
from tests.servers.pipe import Json, Pipe, call, line, mcp_server, modern_meta, text_of
from tests.servers.taskmaster import ENDLESS, KEY, KEYS, LARGE, RESULTS, SHAPES, SLOW, STOLEN
from tests.servers.weft import ROOT, RSS_LIMIT

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

FAIR_S = 20.0
DEADLINE_MS = 1_000
MUCH = 70_000
"""More than an answer may hold once it was cut."""
ABLE: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def taskmaster(era: str, timeout: int = DEADLINE_MS) -> Json:
    run = {"command": sys.executable, "args": ["-m", "tests.servers.taskmaster", era]}
    return {**run, "env": {"PYTHONPATH": str(ROOT)}, "timeout": timeout}


class Follower:
    """Two agents on one pipe: one that follows tasks, and one that has never heard of them."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe

    async def ask(self, method: str, able: Json | None = None, **params: Any) -> Json:
        meta = modern_meta(**{"io.modelcontextprotocol/clientCapabilities": able or {}})
        return await self.pipe.ask(method, {**params, "_meta": meta})

    async def poke(self, text: str, able: Json | None = None, tool: str = "modern__poke") -> Json:
        return await self.ask("tools/call", able, name=tool, arguments={"text": text})

    async def followed(self, text: str) -> Json:
        task = (await self.poke(text, ABLE))["result"]["taskId"]
        return await self.ask("tasks/get", ABLE, taskId=task)

    async def honest_answers(self) -> None:
        assert text_of(await self.poke("x", tool="honest__echo")) == "honest: x"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def agent(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Follower]:
    servers = {"honest": honest(), "modern": taskmaster("stateless"), "elder": taskmaster("handshake")}
    told = json.dumps({"mcpServers": servers})
    async with mcp_server(tmp_path_factory.mktemp("tasks"), "--mcp-config", told) as pipe:
        agent = Follower(pipe)
        async with asyncio.timeout(FAIR_S):
            for tool in ("modern__poke", "elder__poke", "honest__echo"):
                while tool not in json.dumps(await agent.ask("tools/list")):
                    pass
        yield agent
        assert pipe.peak() < RSS_LIMIT
        assert "Traceback" not in pipe.stderr()


@requirement("RES-12", "QUAL-03")
@pytest.mark.parametrize("case", SHAPES)
async def test_what_is_no_task_of_ours_is_an_error_of_that_server(agent: Follower, case: str) -> None:
    followed = await agent.followed(case)
    assert "modern: " in followed["error"]["message"]
    waited = await agent.poke(case)
    assert is_error(waited)
    assert "modern: " in said(waited)
    assert STOLEN not in json.dumps([followed, waited])
    await agent.honest_answers()


@requirement("RES-12", "QUAL-12")
@pytest.mark.parametrize("case", LARGE)
async def test_a_task_that_is_told_at_length_is_cut_or_refused(agent: Follower, case: str) -> None:
    for answer in (await agent.followed(case), await agent.poke(case)):
        assert len(json.dumps(answer)) < MUCH
        assert is_error(answer) or "offset" in json.dumps(answer)
    await agent.honest_answers()


@requirement("RES-12", "QUAL-03")
@pytest.mark.parametrize("case", [case for case in RESULTS if case != "task"])
async def test_so_is_a_result_that_is_none_or_another_s(agent: Follower, case: str) -> None:
    answer = await agent.poke(case, tool="elder__poke")
    assert is_error(answer)
    assert "elder: " in said(answer)
    assert STOLEN not in said(answer)
    await agent.honest_answers()


@requirement("CONF-14", "RES-12")
@pytest.mark.parametrize("case", KEYS)
async def test_secrets_are_taken_out_of_what_a_task_brings(tmp_path: Path, case: str) -> None:
    told = json.dumps({"mcpServers": {"modern": taskmaster("stateless") | {"redact": True}}})
    async with mcp_server(tmp_path, "--mcp-config", told) as pipe:
        agent = Follower(pipe)
        for answer in (await agent.followed(case), await agent.poke(case)):
            assert KEY not in json.dumps(answer)
            assert "[redacted: AWS key]" in json.dumps(answer)


async def asked_by(folder: Path, case: str) -> tuple[list[str], Json]:
    """What an agent that can be asked is asked by such a task, until it has its answer."""
    told = json.dumps({"mcpServers": {"modern": taskmaster("stateless", timeout=30_000)}})
    async with mcp_server(folder, "--mcp-config", told) as pipe:
        await pipe.open(elicitation={})
        await pipe.send(call("poke", "modern__poke", {"text": case}))
        asked: list[str] = []
        while (message := await pipe.read()).get("id") != "poke":
            if message.get("method") == "elicitation/create":
                asked.append(message["params"]["message"])
                answer = {"action": "accept", "content": {"word": "yes"}}
                await pipe.send(line({"jsonrpc": "2.0", "id": message["id"], "result": answer}))
        return asked, message


@requirement("RES-12", "QUAL-12")
async def test_a_task_that_asks_without_end_is_given_up(tmp_path: Path) -> None:
    asked, answer = await asked_by(tmp_path, ENDLESS)
    assert is_error(answer)
    assert "still asks" in said(answer)
    assert len(asked) == MAX_ROUNDS


@requirement("RES-12")
async def test_nobody_is_asked_again_because_a_task_is_slow_to_hear_the_answer(tmp_path: Path) -> None:
    asked, answer = await asked_by(tmp_path, SLOW)
    assert text_of(answer) == "heard"
    assert len(asked) == 1

"""Claude Code as it is, with us as its MCP server and our script as its model: a real host, offline."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clawft.catalog.surface import BYTES_PER_TOKEN
from tests import peers
from tests.delegate.support import scripted_api
from tests.hosts import CLAUDE, FLOW, FOLDER, needs_hosts, run
from tests.requirements import requirement

pytestmark = [pytest.mark.slow, needs_hosts]

SERVERS = Path(__file__).parents[1] / "servers"
BUDGET = 20_000
"""Tokens of definitions that `--surface auto` allows."""
PREFIX = "mcp__weft__"
TRIES = 3
"""It waits 200 ms for its servers: on a busy machine that may be too short for anybody."""
QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
Body = Mapping[str, Any]


def python_server(file: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / file)]}


def claude_flow() -> dict[str, Any]:
    """It keeps its tasks in the folder it is started in."""
    args = [str(FLOW), "mcp", "start"]
    return {"command": str(peers.node()), "args": args, "sandbox": {"read": [str(FOLDER)], "write": ["."]}}


class Host:
    """Claude Code in a home of its own. `weft` is its only server, in front of these."""

    def __init__(self, folder: Path, url: str, servers: Mapping[str, Any], *options: str) -> None:
        self._folder = folder
        self._url = url
        self._options = ("--mcp-config", json.dumps({"mcpServers": servers}), *options)

    async def warm_up(self) -> None:
        """What `weft servers add` and every earlier session leave behind: the lists of the servers."""
        argv = (sys.executable, "-m", "clawft", "tools", "list", "--json", *self._options)
        await run(self._folder, *argv, home=self._folder)

    async def ask(self, task: str) -> dict[str, Any]:
        server = {
            "command": sys.executable,
            "args": ["-m", "clawft", "mcp-server", *self._options],
            "env": {"CLAWFT_HOME": str(self._folder / "clawft")},
        }
        config = json.dumps({"mcpServers": {"weft": server}})
        argv = (str(CLAUDE), "-p", task, "--mcp-config", config, "--allowedTools", "mcp__weft")
        more = {"ANTHROPIC_BASE_URL": self._url, "ANTHROPIC_API_KEY": "any", **QUIET}
        how = ("--output-format", "json", "--model", "claude-sonnet-4-5")
        return json.loads(await run(self._folder, *argv, *how, home=self._folder, **more))


@asynccontextmanager
async def claude_code(
    folder: Path, script: str, servers: Mapping[str, Any], *options: str
) -> AsyncGenerator[tuple[Host, Sequence[tuple[str, Body]]]]:
    async with scripted_api(script) as (url, requests):
        yield Host(folder, url, servers, *options), requests


def ours(body: Body) -> list[str]:
    return [
        tool["name"].removeprefix("mcp__weft__") for tool in body["tools"] if tool["name"].startswith("mcp__weft__")
    ]


def results(body: Body) -> str:
    return json.dumps(body["messages"][-1], ensure_ascii=False)


TWO = """
otherwise = "I see no tools."
[[turns]]
when_tool = "mcp__weft__tiny__echo"
text = "I call both."
calls = [{ tool = "tiny__echo", input = { text = "one" } }, { tool = "echo__echo", input = { text = "two" } }]
[[turns]]
when = "tiny: one"
text = "Both have answered."
"""


@requirement("QUAL-15", "AC-8", "POOL-10")
async def test_our_tools_are_in_its_first_request_and_two_servers_answer(tmp_path: Path) -> None:
    servers = {"tiny": python_server("tiny.py"), "echo": python_server("echo.py")}
    async with claude_code(tmp_path, TWO, servers, "--no-builtin") as (host, requests):
        await host.warm_up()
        said = await host.ask("use the tools")
    first, second = (body for path, body in requests if path == "/v1/messages")
    assert {"tiny__echo", "echo__echo"} <= set(ours(first))
    assert "tiny: one" in results(second)
    assert '\\"text\\": \\"two\\"' in results(second).replace("\\\\", "\\")
    assert (said["result"], said["is_error"]) == ("Both have answered.", False)


@requirement("QUAL-15")
async def test_before_any_server_was_ever_seen_our_own_tools_are_there(tmp_path: Path) -> None:
    first: list[str] = []
    for number in range(TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with claude_code(folder, 'otherwise = "ok"\n', {"tiny": python_server("tiny.py")}) as (host, requests):
            await host.ask("hello")
        first = ours(requests[0][1])
        if first:
            break
    assert "file__read" in first


FINDING = """
otherwise = "I see no tools."
[[turns]]
when_tool = "search_tools"
calls = [{ tool = "weft__search_tools", input = { query = "create a new task" } }]
[[turns]]
when = "flow__task_create"
[[turns.calls]]
tool = "weft__call_tool"
input = { name = "flow__task_create", arguments = { type = "feature", description = "say hello" } }
[[turns]]
when = "taskId"
text = "The task is created."
"""


@requirement("QUAL-15", "AC-8", "DELEG-19")
async def test_with_353_tools_behind_us_its_first_request_stays_small(tmp_path: Path) -> None:
    servers = {"flow": claude_flow()}
    options = ("--no-builtin", "--surface", "auto")
    async with claude_code(tmp_path, FINDING, servers, *options) as (host, requests):
        await host.warm_up()
        said = await host.ask("create a task")
    first = requests[0][1]
    assert set(ours(first)) == {"weft__search_tools", "weft__call_tool"}
    shown = [tool for tool in first["tools"] if tool["name"].startswith(PREFIX)]
    assert len(json.dumps(shown)) // BYTES_PER_TOKEN < BUDGET // 10
    assert said["result"] == "The task is created."


@requirement("DELEG-19", "DELEG-18")
async def test_our_own_agent_finds_them_too(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(FINDING)
    config = json.dumps({"mcpServers": {"flow": claude_flow()}})
    argv = (sys.executable, "-m", "clawft", "agent", "-p", "create a task", "--scenario", str(scenario), "--no-builtin")
    said = await run(tmp_path, *argv, "--mcp-config", config, "--json", home=tmp_path)
    told = [json.loads(line) for line in said.splitlines()]
    called = [(event["name"], event["verdict"]) for event in told if event["type"] == "tool_result"]
    assert called == [("weft__search_tools", "ok"), ("weft__call_tool", "ok")]
    assert told[-1]["result"] == "The task is created."


@requirement("DELEG-19", "DELEG-21", "T-12.5", "AC-8")
async def test_claude_flow_takes_a_task(tmp_path: Path) -> None:
    home = tmp_path / "clawft"
    home.mkdir()
    server = claude_flow()
    (home / "config.toml").write_text(
        f"[delegation]\nclaude_flow_enabled = true\n[delegation.claude_flow_server]\n"
        f"command = {json.dumps(server['command'])}\nargs = {json.dumps(server['args'])}\n"
        'trust = "trusted"\nsandbox = { write = ["."] }\n'
    )
    argv = (sys.executable, "-m", "clawft", "agent", "-p", "say hello", "--target", "flow", "--quiet")
    record = json.loads(await run(tmp_path, *argv, home=tmp_path))
    assert record["description"] == "say hello"
    assert record["taskId"]

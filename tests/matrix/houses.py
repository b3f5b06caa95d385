"""The gateway as a process between an agent and a server, in every combination."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tests.matrix.agents import Agent, PipeLine, over_http
from tests.matrix.cells import Cell, Era
from tests.servers.weft import MCP_SERVER, ROOT, STOP_S, environment, gateway

PEER = [sys.executable, "-m", "tests.matrix.peer"]
OPTIONS = ("--names", "bare", "--no-builtin")
LONGEST_LINE = 16 * 1024 * 1024


def config(name: str = "peer", **server: Any) -> tuple[str, str]:
    return "--mcp-config", json.dumps({"mcpServers": {name: server}})


@contextmanager
def http_peer(era: Era) -> Generator[str]:
    """The server over HTTP; its address."""
    process = subprocess.Popen([*PEER, "--era", era, "--http"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if process.stdout is None:  # never with PIPE; the type does not know
        raise RuntimeError("the server has no output")
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(STOP_S)
        process.stdout.close()


class Houses:
    """Gateways over HTTP, one for each era of the server behind it, started when first needed."""

    def __init__(
        self, folder: Path, name: str = "peer", serve: Callable[[Era], AbstractContextManager[str]] = http_peer
    ) -> None:
        self._folder = folder
        self._name = name
        self._serve = serve
        self._urls: dict[Era, str] = {}
        self._stack = ExitStack()

    def workspace(self, server: Era) -> Path:
        return self._folder / server

    def url(self, server: Era) -> str:
        if server not in self._urls:
            folder = self.workspace(server)
            folder.mkdir()
            peer = self._stack.enter_context(self._serve(server))
            served = gateway(folder, "--no-auth", *OPTIONS, *config(self._name, url=peer), package=ROOT)
            self._urls[server] = self._stack.enter_context(served).url
        return self._urls[server]

    def close(self) -> None:
        self._stack.close()


@asynccontextmanager
async def connected(
    cell: Cell, houses: Houses, folder: Path, *, revision: str = "2025-11-25", **capabilities: Any
) -> AsyncGenerator[Agent]:
    """The agent of this cell, through the gateway, with the server ready."""
    agent = Agent(cell.agent, capabilities)
    if cell.transport == "http":
        async with over_http(agent, houses.url(cell.server)):
            await agent.open(revision)
            await agent.ready()
            agent.heard.clear()
            yield agent
        return
    async with over_pipe(agent, [*PEER, "--era", cell.server], folder):
        await agent.open(revision)
        await agent.ready()
        agent.heard.clear()
        yield agent


@asynccontextmanager
async def over_pipe(agent: Agent, server: list[str], folder: Path) -> AsyncGenerator[None]:
    """The agent at a `weft mcp-server` that has this server behind it."""
    behind = config(command=server[0], args=server[1:], cwd=str(ROOT))
    with (folder / "stderr").open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *MCP_SERVER, *OPTIONS, *behind, cwd=folder, env=environment(folder, ROOT),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr, limit=LONGEST_LINE,
        )  # fmt: skip
    line = agent.line = PipeLine(agent, process)
    try:
        yield
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await asyncio.wait_for(process.wait(), STOP_S)
        await line.reading

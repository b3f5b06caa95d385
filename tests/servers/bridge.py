"""The official SDK's client, a real `weft` and a server that asks, in every pair of eras and over both transports."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from pydantic import FileUrl

from tests.matrix.cells import ERAS, TRANSPORTS, Era, Transport
from tests.matrix.houses import OPTIONS, Houses
from tests.servers.weft import MCP_SERVER, PROBE, STOP_S, environment

PATIENCE_S = 20.0
CURIOUS = str(Path(__file__).parent / "curious.py")
MODES = {"handshake": "legacy", "stateless": "2026-07-28"}


def pairs(kind: str, outcome: str = "carried") -> pytest.MarkDecorator:
    """Run a test once for each pair of eras and transport, as cells of the matrix."""
    return pytest.mark.parametrize(
        ("agent", "server", "transport"),
        [
            pytest.param(
                agent,
                server,
                over,
                marks=pytest.mark.matrix(kind=kind, agent=agent, server=server, transport=over, outcome=outcome),
            )
            for agent in ERAS
            for server in ERAS
            for over in TRANSPORTS
        ],
    )


def config(folder: Path, **entry: Any) -> str:
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"curious": entry}}))
    return str(file)


@contextmanager
def over_http(*options: str) -> Generator[str]:
    """The server that asks, over HTTP; its address."""
    process = subprocess.Popen([sys.executable, CURIOUS, "--http", *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(STOP_S)
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def behind(folder: Path, server: Era, transport: Transport, *options: str, **entry: Any) -> Generator[str]:
    """The configuration of a weft that has it behind."""
    if transport == "http":
        with over_http("--era", server, *options) as url:
            yield config(folder, url=url, **entry)
    else:
        yield config(folder, command=sys.executable, args=[CURIOUS, "--era", server, *options], **entry)


@contextmanager
def houses_of_the_curious(folder: Path) -> Generator[Houses]:
    """Gateways with the server that asks behind them, for all who come over HTTP."""
    houses = Houses(folder, "curious", lambda era: over_http("--era", era))
    try:
        yield houses
    finally:
        houses.close()


@asynccontextmanager
async def connected(
    houses: Houses, folder: Path, agent: Era, server: Era, transport: Transport, **options: Any
) -> AsyncGenerator[Client]:
    """The SDK's client, with the server's tools listed: of a weft of its own in `folder`, or over HTTP of a house."""
    to = houses.url(server) if transport == "http" else _own_weft(folder, server)
    async with asyncio.timeout(PATIENCE_S), Client(to, mode=MODES[agent], **options) as client:
        await ready(client)
        yield client


def _own_weft(folder: Path, server: Era) -> StdioServerParameters:
    with behind(folder, server, "stdio") as file:
        return StdioServerParameters(
            command=MCP_SERVER[0],
            args=[*MCP_SERVER[1:], *OPTIONS, "--mcp-config", file],
            env=environment(folder, PROBE),
            cwd=folder,
        )


async def ready(client: Client) -> None:
    while not any(tool.name == "form" for tool in (await client.list_tools(cache_mode="bypass")).tools):
        continue  # asking takes its time


def text_of(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


# ── a person, a model and folders ────────────────────────────────────────────────────────────────────────────────────


class Person:
    """Answers as the client's callbacks, and keeps what it was asked."""

    def __init__(self, action: Literal["accept", "decline", "cancel"] = "accept") -> None:
        self.action: Literal["accept", "decline", "cancel"] = action
        self.asked: list[types.ElicitRequestParams] = []
        self.sampled: list[types.CreateMessageRequestParams] = []

    async def elicit(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params)
        if self.action != "accept" or isinstance(params, types.ElicitRequestURLParams):
            return types.ElicitResult(action=self.action)
        return types.ElicitResult(action="accept", content={"name": f"<{params.message}>"})

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        self.sampled.append(params)
        content = params.messages[0].content
        assert isinstance(content, types.TextContent)
        return types.CreateMessageResult(
            role="assistant", model="m", content=types.TextContent(type="text", text=f"<{content.text}>")
        )

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///agent/home"), name="home")])

    @property
    def callbacks(self) -> dict[str, Any]:
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
        }

"""An agent for the tests of the family: the official client, talking to a real `weft mcp-server`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ElicitationFnT
from mcp.client.stdio import StdioServerParameters

from tests.servers.weft import MCP_SERVER, environment

PATIENCE_S = 100.0
WAIT_MS = 30_000
"""A cold language server on a busy machine."""
MAIN = """from helper import Greeter

def greet(name: str) -> str:
    return "😀 hü " + nam

n: int = greet("x")
Greeter().hail("ü😀")
"""
HELPER = """class Greeter:
    def hail(self, whom: str) -> str:
        return "hail " + whom
"""
NAM = MAIN.splitlines()[3]
COLUMN = len(NAM[: NAM.index("nam")].encode("utf-16-le")) // 2
"""Of the wrong name, behind an emoji and an umlaut."""
REPAIR = {
    "start_line": 3,
    "start_character": COLUMN,
    "end_line": 3,
    "end_character": COLUMN + 3,
    "new_text": "name",
    "expected_text": "nam",
}


class Agent:
    """The client, with a word for the tools of the family.

    `patience`: for so long a call is made again if a window is too busy to answer in its five seconds.
    """

    def __init__(self, client: Client, folder: Path, patience: float = 0.0) -> None:
        self.client = client
        self.folder = folder
        self.patience = patience

    async def ide(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.call(f"ide__{tool}", **arguments)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self._answer(tool, arguments, "no answer within", "not_ready")
        texts = texts_of(result)
        assert not result.is_error, texts
        return {**(result.structured_content or {}), "texts": texts}

    async def _answer(self, tool: str, arguments: dict[str, Any], *busy: str) -> types.CallToolResult:
        end = asyncio.get_running_loop().time() + self.patience
        while True:
            result = await self.client.call_tool(tool, arguments)
            is_busy = result.is_error and any(word in texts_of(result)[0] for word in busy)
            if not is_busy or asyncio.get_running_loop().time() >= end:
                return result

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self._answer(f"ide__{tool}", arguments, "no answer within")
        assert result.is_error, result.content
        return texts_of(result)[0]

    async def problems(self, path: str | None = None) -> list[str]:
        said = await self.ide("diagnostics", wait_ms=WAIT_MS, severity=1, **({"path": path} if path else {}))
        assert said["fresh"], said
        return [each["message"].splitlines()[0] for each in said["result"]]


def texts_of(result: types.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, types.TextContent)]


@asynccontextmanager
async def agent(
    folder: Path,
    home: Path,
    say: ElicitationFnT | None = None,
    *,
    seconds: float = PATIENCE_S,
    patience: float = 0.0,
    **variables: str,
) -> AsyncGenerator[Agent]:
    env = {**environment(home.parent), "CLAWFT_HOME": str(home), **variables}
    command = StdioServerParameters(command=MCP_SERVER[0], args=list(MCP_SERVER[1:]), env=env, cwd=folder)
    async with asyncio.timeout(seconds), Client(command, mode="legacy", elicitation_callback=say) as client:
        yield Agent(client, folder, patience)


def write_project(folder: Path) -> Path:
    (folder / "main.py").write_text(MAIN)
    (folder / "helper.py").write_text(HELPER)
    return folder

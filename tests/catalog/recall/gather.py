"""Ask a server for its tools and print them as lines of `tools.jsonl`.

usage: python -m tests.catalog.recall.gather NAME COMMAND [ARGUMENT …]
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from mcp import Client, types
from mcp.client.stdio import StdioServerParameters, stdio_client

KEPT = ("name", "title", "description", "inputSchema")


async def gather(name: str, argv: Sequence[str]) -> list[dict[str, Any]]:
    """Everything the server lists, page by page."""
    command = StdioServerParameters(command=argv[0], args=list(argv[1:]))
    async with Client(stdio_client(command)) as client:
        tools: list[types.Tool] = []
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor:
                return [_kept(name, tool) for tool in tools]


def _kept(server: str, tool: types.Tool) -> dict[str, Any]:
    told = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"server": server, "description": "", **{key: told[key] for key in KEPT if key in told}}


if __name__ == "__main__":
    for row in asyncio.run(gather(sys.argv[1], sys.argv[2:])):
        print(json.dumps(row, ensure_ascii=False, separators=(",", ":")))

"""The tools `search_tools` and `call_tool`, for agents to whom not all tools are listed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from clawft.catalog.snapshot import CatalogEntry
from clawft.catalog.surface import FINDERS
from clawft.errors import InvalidArguments, ToolNotFound
from clawft.model import Call, Caller, Reply
from clawft.provider.context import ToolContext
from clawft.provider.function import tool

MAX_FOUND = 20
MAX_DESCRIPTION = 1_200

Search = Callable[[Caller, str, int], Sequence[CatalogEntry]]
Find = Callable[[str], CatalogEntry | None]
HandOn = Callable[[Call, str, bytes], Awaitable[Reply]]
"""Calls another tool, by its name and with its arguments, in place of this one."""


class FoundTool(Struct, rename="camel"):
    """All that is needed to call it."""

    name: str
    description: str
    input_schema: Raw


def finding_tools(search: Search, hand_on: HandOn, find: Find) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`search_tools` and `call_tool` over all tools the gateway offers the caller."""

    @tool(name="search_tools", title="Search tools", read_only=True, idempotent=True, open_world=False)
    async def search_tools(
        query: Annotated[str, Meta(min_length=1, max_length=1000, description="what it should do, in a few words")],
        ctx: ToolContext,
        limit: Annotated[int, Meta(ge=1, le=MAX_FOUND)] = 5,
    ) -> Any:
        """Find tools by what they do. Most tools here are not listed: search first, then call with call_tool."""
        found = [_found_tool(entry) for entry in search(ctx.caller, query, limit)]
        return {"tools": found} if found else {"tools": [], "note": "nothing found; try other words"}

    @tool(name="call_tool", title="Call a tool")
    async def call_tool(
        name: Annotated[str, "the tool's name, as search_tools gave it"],
        ctx: ToolContext,
        arguments: Annotated[dict[str, Raw], "the arguments, as its inputSchema says"] = {},  # noqa: B006 - only read
    ) -> Any:
        """Call a tool that search_tools has found."""
        entry = find(name)
        if entry is not None and entry.canonical in FINDERS:
            raise InvalidArguments(f"{name} is called directly, not through call_tool")
        try:
            return await hand_on(ctx.call, name, msgspec.json.encode(arguments))
        except ToolNotFound:
            near = ", ".join(one.name for one in search(ctx.caller, name, 3))
            raise InvalidArguments(f"unknown tool: {name}", hint=f"nearest: {near}" if near else "") from None

    return search_tools, call_tool


def _found_tool(entry: CatalogEntry) -> FoundTool:
    text = entry.tool.description
    cut = text if len(text) <= MAX_DESCRIPTION else text[:MAX_DESCRIPTION] + "…"
    return FoundTool(entry.name, cut, Raw(entry.tool.input_schema))

"""The tools as they are listed, without what they do.

Their definitions are kept in `tools.jsonl`, one in each line, as `family` makes them; a test holds the two together, and
`python -m tests.builtin.git.generate` writes the file anew. So a start pays for one small file, and the first call for
the rest.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from clawft.builtin.git.settings import GitSettings
from clawft.model import Annotations, Reply, Tool
from clawft.provider.context import ToolContext
from clawft.provider.definition import FunctionTool
from clawft.provider.function import definition_of, tool

FILE = Path(__file__).with_name("tools.jsonl")


class Listed(Struct, rename="camel"):
    name: str
    title: str
    description: str
    input_schema: Raw
    output_schema: Raw
    annotations: Annotations


_listed = msgspec.json.Decoder(Listed)


def git_tools(settings: GitSettings) -> tuple[Callable[..., Any], ...]:
    """The tools, bound to these settings."""
    working = _Working(settings)
    return tuple(_stand_in(line, working) for line in FILE.read_bytes().splitlines())


class _Working:
    """The tools with all that they do; loaded when one is called."""

    def __init__(self, settings: GitSettings) -> None:
        self._settings = settings
        self._tools: dict[str, FunctionTool] = {}

    async def run(self, name: str, arguments: bytes, ctx: ToolContext | None) -> Reply:
        if not self._tools:
            self._tools = await asyncio.to_thread(self._load)
        return await self._tools[name].run(arguments, ctx)

    def _load(self) -> dict[str, FunctionTool]:
        from clawft.builtin.git.family import RECIPES  # takes its time: not before a tool is called

        return {recipe.name: definition_of(recipe.tool(self._settings)) for recipe in RECIPES}


def _stand_in(line: bytes, working: _Working) -> Callable[..., Any]:
    """A tool that looks like the one in this line, and has its work done by the real one."""
    listed = _listed.decode(line)

    @tool(name=listed.name, input_schema={})
    async def stand_in(arguments: dict[str, Any], ctx: ToolContext) -> Reply:
        return await working.run(listed.name, msgspec.json.encode(arguments), ctx)

    definition = definition_of(stand_in)
    definition.tool = _tool(listed, line)
    definition.run = lambda arguments, ctx: working.run(listed.name, arguments, ctx)
    return stand_in


def _tool(listed: Listed, line: bytes) -> Tool:
    return Tool(
        name=listed.name,
        wire=line,
        title=listed.title,
        description=listed.description,
        input_schema=bytes(listed.input_schema),
        output_schema=bytes(listed.output_schema),
        annotations=listed.annotations,
        alias=f"git_{listed.name}",
    )

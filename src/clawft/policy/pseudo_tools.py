"""Prompts and resources of a server as tool definitions, so that they are approved like its tools. Pure.

| name | what is approved |
|---|---|
| `prompts/get` | every prompt of the server, as it describes itself now |
| `resources/read` | reading whatever the server has: lists of resources change from hour to hour |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clawft.model import Annotations, Tool, ToolDefinition
from clawft.policy.pin import RAW_DEFINITION, canonical, members

PROMPTS, RESOURCES = "prompts/get", "resources/read"
CALLED: Mapping[str, str] = {PROMPTS: "prompts", RESOURCES: "resources"}
"""The words that a person reads in place of these names."""


def pseudo_tools(prompts: Sequence[bytes], *, resources: bool) -> tuple[Tool, ...]:
    """The pseudo-tools of a server: `prompts` are its own definitions, `resources` says whether it has any."""
    return (*((prompts_of(prompts),) if prompts else ()), *((RESOURCES_TOOL,) if resources else ()))


def prompts_of(prompts: Sequence[bytes]) -> Tool:
    seen = [members(each) for each in prompts]
    return _as_tool(PROMPTS, canonical({"name": PROMPTS, "prompts": seen}), "\n".join(map(_prompt_line, seen)))


def _prompt_line(prompt: Mapping[str, Any]) -> str:
    return prompt.get(RAW_DEFINITION) or f"{prompt.get('name', '')}: {prompt.get('description', '')}"


def _as_tool(name: str, wire: bytes, description: str = "") -> Tool:
    return Tool(name, wire, Annotations(read_only_hint=True), fuller_definition=ToolDefinition(description=description))


RESOURCES_TOOL = _as_tool(RESOURCES, b'{"name":"resources/read"}')

"""What a server has beside its tools, put as tools, so that it is approved like them. Pure.

| named | what is approved |
|---|---|
| `prompts/get` | every prompt of the server, as it describes itself now |
| `resources/read` | reading whatever the server has: lists of resources change from hour to hour |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clawft.model import Annotations, Said, Tool
from clawft.policy.pin import UNSEEN

PROMPTS, RESOURCES = "prompts/get", "resources/read"
CALLED: Mapping[str, str] = {PROMPTS: "prompts", RESOURCES: "resources"}
"""In words for people."""

_object = msgspec.json.Decoder(dict[str, Any])


def beside_tools(prompts: Sequence[bytes], *, resources: bool) -> tuple[Tool, ...]:
    """`prompts` as the server said them, `resources` whether it has any."""
    return (*((prompts_of(prompts),) if prompts else ()), *((RESOURCES_TOOL,) if resources else ()))


def prompts_of(prompts: Sequence[bytes]) -> Tool:
    seen = [{key: value for key, value in _members(each).items() if key != UNSEEN} for each in prompts]
    said = "\n".join(f"{each.get('name', '')}: {each.get('description', '')}" for each in seen)
    return _as_tool(PROMPTS, said, {"prompts": seen})


def _as_tool(name: str, description: str, more: Mapping[str, Any]) -> Tool:
    wire = msgspec.json.encode({"name": name, **more})
    return Tool(name, wire, Annotations(read_only_hint=True), told=Said(description=description))


def _members(prompt: bytes) -> dict[str, Any]:
    try:
        return _object.decode(prompt)
    except (msgspec.DecodeError, RecursionError):
        return {"name": prompt.decode("utf-8", "backslashreplace")}


RESOURCES_TOOL = _as_tool(RESOURCES, "", {})

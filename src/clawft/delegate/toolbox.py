"""The tools a delegate is given, as its model's API wants them: chosen, renamed reversibly, translated. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from clawft.catalog.names import fit
from clawft.catalog.snapshot import CatalogEntry
from clawft.delegate.turns import ToolSpec, ToolUse
from clawft.errors import ModelFailed
from clawft.policy.globs import any_matches
from clawft.policy.grant import hides

ANOTHER = "ask another model: this one does not make whole calls"


class NameMap:
    """Maps our tool names to names that every model API takes (`[A-Za-z0-9_-]{1,64}`), and back without loss."""

    def __init__(self, names: Iterable[str]) -> None:
        self._to_api: dict[str, str] = {}
        self._from_api: dict[str, str] = {}
        for name in dict.fromkeys(names):
            spelled = fit(name)
            while spelled in self._from_api:
                spelled = fit(f"{spelled}:")  # odd on purpose: that earns it a hash
            self._to_api[name] = spelled
            self._from_api[spelled] = name

    def to_api(self, name: str) -> str:
        return self._to_api.get(name) or fit(name)

    def from_api(self, spelled: str) -> str:
        """Our name of a tool; a name that the model made up is kept, and is then not found."""
        return self._from_api.get(spelled, spelled)


def made_use(told: Mapping[str, Any], names: NameMap) -> ToolUse:
    """A call that a model asked for, under our name of the tool. Raises ModelFailed if it is malformed."""
    given: dict[str, Any] = {"id": told.get("id"), "name": told.get("name"), "input": told.get("input") or {}}
    try:
        use = msgspec.convert(given, ToolUse)
    except msgspec.ValidationError as wrong:
        raise ModelFailed(f"the model sent an invalid call: {wrong}", passing=True, hint=ANOTHER) from None
    return ToolUse(use.id, names.from_api(use.name), use.input)


def read_arguments(written: str, name: str) -> dict[str, Any]:
    """The arguments a model wrote. Raises ModelFailed if they are cut off: half of what was meant may do harm."""
    try:
        return msgspec.json.decode(written or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise ModelFailed(
            f"the arguments for {name} are not a JSON object: {wrong}", passing=True, hint=ANOTHER
        ) from None


def filter_tools(entries: Sequence[CatalogEntry], include: Sequence[str], exclude: Sequence[str]) -> list[CatalogEntry]:
    """By globs over any of a tool's names. An empty `include` means all; `exclude` wins."""
    wanted, unwanted = tuple(include), tuple(exclude)

    def is_kept(entry: CatalogEntry) -> bool:
        names = (*entry.names, entry.tool.name)
        return (not wanted or any_matches(names, wanted)) and not hides(unwanted, names)

    return [entry for entry in entries if is_kept(entry)]


def spec_of(entry: CatalogEntry) -> ToolSpec:
    schema: dict[str, Any] = msgspec.json.decode(entry.tool.input_schema)
    return ToolSpec(entry.name, entry.tool.description or entry.tool.title, schema)


# ── the two forms ────────────────────────────────────────────────────────────────────────────────────────────────────


def openai_tool(spec: ToolSpec, name: str) -> dict[str, Any]:
    function = {"name": name, "description": spec.description, "parameters": object_schema(spec.schema)}
    return {"type": "function", "function": function}


def openai_to_anthropic(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """From one API's form to the other's; what has no `function` is no tool and left out."""
    functions: list[Mapping[str, Any]] = [tool["function"] for tool in tools if "function" in tool]
    return [
        {
            "name": function["name"],
            "description": function.get("description", ""),
            "input_schema": object_schema(function.get("parameters") or {}),
        }
        for function in functions
    ]


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Both APIs insist on an object at the top."""
    return {**schema, "type": "object", "properties": schema.get("properties") or {}}


def tool_result(id: str, value: Any, *, is_error: bool = False) -> dict[str, Any]:
    """The block that answers a `tool_use`: text as it is, anything else as JSON."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    block = {"type": "tool_result", "tool_use_id": id, "content": text}
    return {**block, "is_error": True} if is_error else block

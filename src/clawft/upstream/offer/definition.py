"""Definitions of tools as servers send them: read, and mended where only a word is missing."""

from functools import cache
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.errors import BadParams
from clawft.model import Annotations, Capabilities, TaskSupport, Tool
from clawft.wire.meta import NEEDS, read_capabilities
from clawft.wire.readable import check_readable
from clawft.wire.schemas import flaw_of
from clawft.wire.shapes import Anything, ItemDescription, read_mended
from clawft.wire.visible import make_visible


class _Needs(Struct, frozen=True):
    needs: Raw | UnsetType = field(default=UNSET, name=NEEDS)


class _Meta(Struct):
    meta: _Needs = field(default=_Needs(), name="_meta")


class _Execution(Struct, rename="camel"):
    """2025-11-25 only."""

    task_support: Literal["forbidden", "optional", "required"] | UnsetType = UNSET


class _InputSchema(Struct, gc=False):
    """As much of it as every client relies on: one that is wrong costs some of them the lists of all servers."""

    type: Literal["object"] | UnsetType = UNSET
    properties: dict[str, Anything | bool] | UnsetType = UNSET
    required: list[str] | UnsetType = UNSET
    dialect: str | UnsetType = field(default=UNSET, name="$schema")


class _ToolView(ItemDescription, rename="camel", kw_only=True):
    name: str
    input_schema: Raw | UnsetType = UNSET
    output_schema: Raw | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    execution: _Execution | UnsetType = UNSET


_meta = msgspec.json.Decoder(_Meta)
_members = msgspec.json.Decoder(dict[str, Raw])
_input_schema = msgspec.json.Decoder(_InputSchema)
_NULL = Raw(b"null")
NOTHING = Capabilities()
_NO_HINTS = Annotations()


def read_tool(wire: bytes, tasks: str = "") -> Tool:
    """A definition as it came, with hidden characters made visible, and our view of it. Raises DecodeError.

    `tasks` is the era of the server if it knows tasks.
    """
    wire, view = read_mended(_without_null(make_visible(wire)), _ToolView)
    check_readable(wire)
    told = b"{}" if view.input_schema is UNSET else bytes(view.input_schema)
    schema = _typed(told)
    wire = wire if schema == told else _with(wire, "inputSchema", schema)
    if view.output_schema is not UNSET and flaw_of(view.output_schema):
        wire = _without(wire, "outputSchema")
    return Tool(
        name=view.name,
        wire=wire,
        annotations=_NO_HINTS if view.annotations is UNSET else _hints(view.annotations),
        task=_task(view, tasks),
        needs=NOTHING if view.meta is UNSET else _needs(wire),
    )


def _hints(told: Annotations) -> Annotations:
    """Without a title, which stands in the definition: then there are so few that one of each is enough."""
    return _one_of_each(told.read_only_hint, told.destructive_hint, told.idempotent_hint, told.open_world_hint)


@cache
def _one_of_each(*hints: bool) -> Annotations:
    return Annotations(UNSET, *hints)


def _without_null(wire: bytes) -> bytes:
    """Some say that something is not there instead of leaving it out, which strict clients take ill."""
    if b"null" not in wire:
        return wire
    members = _members.decode(wire)
    kept = {key: value for key, value in members.items() if value != _NULL}
    return wire if len(kept) == len(members) else msgspec.json.encode(kept)


def _typed(schema: bytes) -> bytes:
    """With the type that every input has, where the server left it out. Raises DecodeError for any other."""
    schema = _without_null(schema)
    if _input_schema.decode(schema).type is not UNSET:
        return schema
    return msgspec.json.encode({"type": "object", **_members.decode(schema)})


def _with(wire: bytes, member: str, value: bytes) -> bytes:
    return msgspec.json.encode({**_members.decode(wire), member: Raw(value)})


def _without(wire: bytes, member: str) -> bytes:
    return msgspec.json.encode({key: value for key, value in _members.decode(wire).items() if key != member})


def _needs(wire: bytes) -> Capabilities:
    """Told by another clawft. What cannot be read is not needed."""
    if NEEDS.encode() not in wire:
        return NOTHING
    try:
        needs = _meta.decode(wire).meta.needs
        return NOTHING if needs is UNSET else read_capabilities(bytes(needs))
    except (msgspec.DecodeError, BadParams):
        return NOTHING


def _task(view: _ToolView, tasks: str) -> TaskSupport:
    """In the stateless era the server decides with each call; before, the definition said it."""
    if tasks == "stateless":
        return "server"
    support = UNSET if view.execution is UNSET else view.execution.task_support
    return support if tasks and support is not UNSET else "forbidden"

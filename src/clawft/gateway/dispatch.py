"""What each method does, the same for both eras. One table for lists, one for calls that may ask back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.catalog.snapshot import rename
from clawft.errors import BadParams, UnknownMethod
from clawft.gateway.core import Gateway
from clawft.gateway.offer.listing import read_cursor
from clawft.gateway.offer.resources import Reader
from clawft.model import (
    EMPTY_OBJECT,
    Caller,
    Completion,
    ForeignPrompt,
    ForeignResource,
    ForeignTemplate,
    Prompt,
    Reply,
    Resource,
    ResourceTemplate,
    Talk,
    Tool,
)
from clawft.wire import narrow
from clawft.wire.jsonrpc import copied
from clawft.wire.methods import METHODS, Sender
from clawft.wire.revisions import REVISIONS, Revision
from clawft.wire.visible import make_visible

MAX_COMPLETIONS = 100

_encode = msgspec.json.encode


def check_method(method: str, caller: Caller) -> None:
    """Raises UnknownMethod unless a client of this caller's era may send it."""
    known = METHODS.get(method)
    if known is None or known.sender is Sender.SERVER or not known.answered or caller.era not in known.eras:
        raise UnknownMethod(f"unknown method: {method[:100]}")


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _tools(gateway: Gateway, caller: Caller) -> list[bytes]:
    revision = REVISIONS[caller.revision]
    return [
        narrow.definition(_with_execution(entry.wire, entry.tool, revision), revision)
        for entry in gateway.listed(caller)
    ]


def _with_execution(wire: bytes, tool: Tool, revision: Revision) -> bytes:
    """Where tasks are part of the protocol a definition says whether its tool can be one."""
    if not revision.core_tasks or tool.task == "forbidden" or b'"execution"' in wire:
        return wire
    told = b"required" if tool.task == "required" else b"optional"
    return wire[:-1] + b',"execution":{"taskSupport":"%s"}}' % told


def _prompts(gateway: Gateway, caller: Caller) -> list[bytes]:
    revision = REVISIONS[caller.revision]
    named = [rename(_wire(found.prompt), found.name) for found in gateway.prompts.listed(caller)]
    return [narrow.definition(make_visible(wire), revision) for wire in named]


def _resources(gateway: Gateway, caller: Caller) -> list[bytes]:
    revision = REVISIONS[caller.revision]
    owned = gateway.resources.owned(caller)
    return [narrow.definition(make_visible(_wire(resource)), revision) for _, resource in owned]


def _templates(gateway: Gateway, caller: Caller) -> list[bytes]:
    revision = REVISIONS[caller.revision]
    templates = gateway.resources.templates(caller)
    return [narrow.definition(make_visible(_wire(template)), revision) for template in templates]


def _wire(item: Prompt | Resource | ResourceTemplate) -> bytes:
    """As its server said it, where it has one: what we do not know of it is not lost."""
    if isinstance(item, ForeignPrompt | ForeignResource | ForeignTemplate):
        return item.raw
    return _encode(item)


LISTS: dict[str, tuple[str, Callable[[Gateway, Caller], Sequence[bytes]]]] = {
    "tools/list": ("tools", _tools),
    "prompts/list": ("prompts", _prompts),
    "resources/list": ("resources", _resources),
    "resources/templates/list": ("resourceTemplates", _templates),
}


def audience_of(caller: Caller) -> tuple[Hashable, ...]:
    """All that a list, or its form, depends on."""
    return caller.grant, caller.revision, caller.agent, caller.principal, caller.proof


def list_page(
    gateway: Gateway, caller: Caller, method: str, params: bytes, finish: Callable[[bytes], bytes] = bytes
) -> bytes:
    """One page of a list, finished in the caller's dialect; ready-made after the first time."""
    member, render = LISTS[method]
    cursor = read_cursor(params)
    return gateway.pages.page(member, audience_of(caller), cursor, lambda: render(gateway, caller), finish)


# ── calls that may ask back ──────────────────────────────────────────────────────────────────────────────────────────


class Target(Struct, frozen=True, gc=False):
    """What tools/call, prompts/get and resources/read have in common: a name, arguments, and the answers of a retry."""

    method: str
    name: str
    arguments: bytes
    meta: bytes = b""
    responses: dict[str, Raw] | UnsetType = UNSET
    state: str | UnsetType = UNSET
    task: Raw | UnsetType = UNSET
    """The wish to have it run as a task, in the way of 2025-11-25."""


class _CallParams(Struct):
    name: str
    arguments: Raw | UnsetType = UNSET
    meta: Raw | UnsetType = field(default=UNSET, name="_meta")
    responses: dict[str, Raw] | UnsetType = field(default=UNSET, name="inputResponses")
    state: str | UnsetType = field(default=UNSET, name="requestState")
    task: Raw | UnsetType = UNSET


class _ReadParams(Struct):
    uri: str
    meta: Raw | UnsetType = field(default=UNSET, name="_meta")
    responses: dict[str, Raw] | UnsetType = field(default=UNSET, name="inputResponses")
    state: str | UnsetType = field(default=UNSET, name="requestState")


_call_params = msgspec.json.Decoder(_CallParams)
_read_params = msgspec.json.Decoder(_ReadParams)


def read_target(method: str, params: bytes) -> Target:
    """Raises BadParams if there is no name, or the arguments are no object."""
    try:
        if method == "resources/read":
            read = _read_params.decode(params or EMPTY_OBJECT)
            meta = b"" if read.meta is UNSET else bytes(read.meta)
            return Target(method, read.uri, EMPTY_OBJECT, meta, read.responses, read.state)
        told = _call_params.decode(params or EMPTY_OBJECT)
    except msgspec.DecodeError as wrong:
        raise BadParams(f"{method}: {wrong}") from None
    arguments = EMPTY_OBJECT if told.arguments is UNSET else copied((told.arguments,))
    if arguments[:1] != b"{":
        raise BadParams(f"{method}: arguments must be an object")
    meta = b"" if told.meta is UNSET else copied((told.meta,))
    return Target(method, told.name, arguments, meta, told.responses, told.state, told.task)


def _call_tool(gateway: Gateway, caller: Caller, target: Target, talk: Talk) -> Awaitable[Reply]:
    return gateway.call(caller, target.name, target.arguments, talk, target.meta)


async def _get_prompt(gateway: Gateway, caller: Caller, target: Target, talk: Talk) -> Reply:
    await gateway.settle(caller)
    return Reply(await gateway.prompts.get(caller, target.name, target.arguments, talk, target.meta))


async def _read_resource(gateway: Gateway, caller: Caller, target: Target, talk: Talk) -> Reply:
    await gateway.settle(caller)
    return Reply(await gateway.resources.read(target.name, Reader(caller, talk, target.meta)))


CALLS: dict[str, Callable[[Gateway, Caller, Target, Talk], Awaitable[Reply]]] = {
    "tools/call": _call_tool,
    "prompts/get": _get_prompt,
    "resources/read": _read_resource,
}


# ── completion ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _Argument(Struct):
    name: str
    value: str


class _Context(Struct, frozen=True):
    arguments: dict[str, str] = {}


class _CompleteParams(Struct):
    ref: dict[str, Any]
    argument: _Argument
    context: _Context = _Context()


async def complete(gateway: Gateway, caller: Caller, params: bytes) -> bytes:
    try:
        told = msgspec.json.decode(params or EMPTY_OBJECT, type=_CompleteParams)
    except msgspec.DecodeError as wrong:
        raise BadParams(f"completion/complete: {wrong}") from None
    await gateway.settle(caller)
    name, value = told.argument.name, told.argument.value
    found = await gateway.prompts.complete(caller, told.ref, name, value, told.context.arguments)
    if len(found.values) > MAX_COMPLETIONS:
        found = Completion(found.values[:MAX_COMPLETIONS], found.total, has_more=True)
    return make_visible(_encode({"completion": found}))

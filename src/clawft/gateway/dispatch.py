"""Runs each method, the same for both eras. One table for lists, one for calls that may ask back."""

from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.catalog.snapshot import CatalogEntry, rename
from clawft.errors import BadParams, UnknownMethod
from clawft.gateway.core import Gateway
from clawft.gateway.offer.listing import Listed, read_cursor
from clawft.gateway.offer.prompts import NamedPrompt
from clawft.gateway.offer.resources import NamedResource, Reader, wire_of, wire_of_template
from clawft.model import (
    EMPTY_OBJECT,
    MAX_COMPLETIONS,
    Caller,
    Completing,
    Completion,
    ForeignCompletion,
    ForeignPrompt,
    ForeignResource,
    ForeignTemplate,
    Reply,
    Resource,
    ResourceTemplate,
    Talk,
    TaskSupport,
)
from clawft.wire import narrow
from clawft.wire.jsonrpc.messages import NULL, copied
from clawft.wire.methods import METHODS, Sender
from clawft.wire.revisions import REVISIONS, Revision
from clawft.wire.visible import make_visible

MAX_REMEMBERED = 1_024
MAX_REMEMBERED_BYTES = 4_096
"""How many rendered tool definitions are remembered, and how long each may be."""

_encode = msgspec.json.encode


def check_method(method: str, caller: Caller) -> None:
    """Raises UnknownMethod unless a client of this caller's era may send it."""
    known = METHODS.get(method)
    if known is None or known.sender is Sender.SERVER or not known.answered or caller.era not in known.eras:
        raise UnknownMethod(f"unknown method: {method[:100]}")


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _List(Struct, frozen=True):
    """How one of the lists is made. Items are rendered page by page."""

    member: str
    items: Callable[[Gateway, Caller], Sequence[Any]]
    render: Callable[[Any, Revision], bytes]
    owner: Callable[[Any], str]


def _namespace(item: CatalogEntry | NamedPrompt) -> str:
    return item.origin.namespace


def _owner(item: NamedResource[Any]) -> str:
    return item.owner


def _tool(entry: CatalogEntry, revision: Revision) -> bytes:
    tool = entry.tool
    render = _remembered_tool if len(tool.wire) <= MAX_REMEMBERED_BYTES else _rendered_tool
    return render(tool.wire, entry.name, tool.task, revision.name)


def _rendered_tool(wire: bytes, name: str, task: TaskSupport, revision: str) -> bytes:
    known = REVISIONS[revision]
    return narrow.definition(_with_execution(rename(wire, name), task, known), known)


_remembered_tool = lru_cache(maxsize=MAX_REMEMBERED)(_rendered_tool)
"""While servers start one by one the list is made again for each, and most of it is unchanged."""


def _with_execution(wire: bytes, task: TaskSupport, revision: Revision) -> bytes:
    """In the revision that has tasks in its core, the definition says whether its tool can be one."""
    if not revision.core_tasks or task == "forbidden" or b'"execution"' in wire:
        return wire
    support = b"required" if task == "required" else b"optional"
    return wire[:-1] + b',"execution":{"taskSupport":"%s"}}' % support


def _prompt(named: NamedPrompt, revision: Revision) -> bytes:
    prompt = named.prompt
    wire = prompt.raw if isinstance(prompt, ForeignPrompt) else _encode(prompt)
    return narrow.definition(make_visible(rename(wire, named.name)), revision)


def _resource(named: NamedResource[Resource | ForeignResource], revision: Revision) -> bytes:
    return narrow.definition(make_visible(wire_of(named)), revision)


def _template(named: NamedResource[ResourceTemplate | ForeignTemplate], revision: Revision) -> bytes:
    return narrow.definition(make_visible(wire_of_template(named)), revision)


LISTS = {
    "tools/list": _List("tools", lambda gateway, caller: gateway.tools.listed(caller), _tool, _namespace),
    "prompts/list": _List("prompts", lambda gateway, caller: gateway.prompts.listed(caller), _prompt, _namespace),
    "resources/list": _List("resources", lambda gateway, caller: gateway.resources.named(caller), _resource, _owner),
    "resources/templates/list": _List(
        "resourceTemplates", lambda gateway, caller: gateway.resources.named_templates(caller), _template, _owner
    ),
}


def audience_of(caller: Caller) -> tuple[Hashable, ...]:
    """Everything about the caller that a list, or its form, depends on."""
    return caller.grant, caller.revision, caller.agent, caller.principal, caller.proof


def all_of(gateway: Gateway, caller: Caller, method: str) -> Iterator[bytes]:
    """A whole list, item by item."""
    kind, revision = LISTS[method], REVISIONS[caller.revision]
    return (kind.render(item, revision) for item in kind.items(gateway, caller))


def list_page(
    gateway: Gateway, caller: Caller, method: str, params: bytes, finish: Callable[[bytes], bytes] = bytes
) -> bytes:
    """One page of a list, finished in the caller's dialect; ready-made after the first time."""
    kind, revision = LISTS[method], REVISIONS[caller.revision]
    gateway.on_list_read()

    def listed() -> Listed:
        found = kind.items(gateway, caller)
        return Listed(
            lambda begin: (kind.render(item, revision) for item in islice(found, begin, None)),
            lambda: [kind.owner(item) for item in found],
        )

    return gateway.pages.page(kind.member, audience_of(caller), read_cursor(params), listed, finish)


async def page_soon(
    gateway: Gateway, caller: Caller, method: str, params: bytes, finish: Callable[[bytes], bytes] = bytes
) -> bytes:
    """One page of a list. The first page waits a moment for what is pending.

    A person's own tools may have been dropped since the first page, so for them every page waits.
    """
    if gateway.pending.has_any(caller) and (caller.proof or read_cursor(params) is None):
        await gateway.pending.wait_for_lists(caller)
    return list_page(gateway, caller, method, params, finish)


# ── calls that may ask back ──────────────────────────────────────────────────────────────────────────────────────────


class CallTarget(Struct, frozen=True, gc=False):
    """The parameters of tools/call, prompts/get and resources/read: a name, arguments, and the answers of a retry."""

    method: str
    name: str
    arguments: bytes
    meta: bytes = b""
    responses: dict[str, Raw] | UnsetType = UNSET
    state: str | UnsetType = UNSET
    task: Raw | UnsetType = UNSET
    """The wish to run it as a task, as 2025-11-25 has it."""
    more: bytes = b""
    """A JSON object of all other members, if there are any."""


class _CallParams(Struct, forbid_unknown_fields=True):
    name: str
    arguments: Raw | UnsetType = UNSET
    meta: Raw | UnsetType = field(default=UNSET, name="_meta")
    responses: dict[str, Raw] | UnsetType = field(default=UNSET, name="inputResponses")
    state: str | UnsetType = field(default=UNSET, name="requestState")
    task: Raw | UnsetType = UNSET


class _ReadParams(Struct, forbid_unknown_fields=True):
    uri: str
    meta: Raw | UnsetType = field(default=UNSET, name="_meta")
    responses: dict[str, Raw] | UnsetType = field(default=UNSET, name="inputResponses")
    state: str | UnsetType = field(default=UNSET, name="requestState")


_call_params = msgspec.json.Decoder(_CallParams)
_members = msgspec.json.Decoder(dict[str, Raw])
_CALL = frozenset(each.encode_name for each in msgspec.structs.fields(_CallParams))
_READ = frozenset(each.encode_name for each in msgspec.structs.fields(_ReadParams))


def read_target(method: str, params: bytes) -> CallTarget:
    """Raises BadParams if there is no name, or the arguments are no object."""
    params = params or EMPTY_OBJECT
    try:
        return _target(method, params)
    except msgspec.DecodeError:
        pass  # there are members we do not know, or something is wrong
    try:
        known, more = _split(params, _READ if method == "resources/read" else _CALL)
        return msgspec.structs.replace(_target(method, known), more=more)
    except msgspec.DecodeError as wrong:
        raise BadParams(f"{method}: {wrong}") from None


def _split(params: bytes, names: frozenset[str]) -> tuple[bytes, bytes]:
    members = _members.decode(params)
    more = {name: value for name, value in members.items() if name not in names}
    known = {name: value for name, value in members.items() if name in names}
    return _encode(known), _encode(more) if more else b""


def _target(method: str, params: bytes) -> CallTarget:
    if method == "resources/read":
        read = msgspec.json.decode(params, type=_ReadParams)
        meta = b"" if read.meta is UNSET else bytes(read.meta)
        return CallTarget(method, read.uri, EMPTY_OBJECT, meta, read.responses, read.state)
    told = _call_params.decode(params)
    arguments = EMPTY_OBJECT if told.arguments is UNSET else copied((told.arguments,))
    if arguments[:1] != b"{":
        if arguments != NULL:  # how some libraries write that there are none
            raise BadParams(f"{method}: arguments must be an object")
        arguments = EMPTY_OBJECT
    meta = b"" if told.meta is UNSET else copied((told.meta,))
    return CallTarget(method, told.name, arguments, meta, told.responses, told.state, told.task)


def _call_tool(gateway: Gateway, caller: Caller, target: CallTarget, talk: Talk) -> Awaitable[Reply]:
    return gateway.call(caller, target.name, target.arguments, talk, target.meta, target.more)


async def _get_prompt(gateway: Gateway, caller: Caller, target: CallTarget, talk: Talk) -> Reply:
    await gateway.pending.wait_for_servers_unless(lambda: gateway.prompts.has(target.name, caller), caller)
    return Reply(await gateway.prompts.get(caller, target.name, target.arguments, talk, target.meta, target.more))


async def _read_resource(gateway: Gateway, caller: Caller, target: CallTarget, talk: Talk) -> Reply:
    await gateway.pending.wait_for_servers_unless(lambda: gateway.resources.has(target.name, caller), caller)
    return Reply(await gateway.resources.read_noted(target.name, Reader(caller, talk, target.meta, target.more)))


CALLS: dict[str, Callable[[Gateway, Caller, CallTarget, Talk], Awaitable[Reply]]] = {
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
    meta: dict[str, Raw] = field(default_factory=dict[str, Raw], name="_meta")


_REFERENCES = {"ref/prompt": "name", "ref/resource": "uri"}
"""By which member each kind names what it means."""


def _check_reference(ref: Mapping[str, Any]) -> None:
    """Of a kind that is none of ours some server may know what it means. Raises BadParams."""
    kind = ref.get("type")
    member = _REFERENCES.get(kind) if isinstance(kind, str) else "type"
    if member is not None and not isinstance(ref.get(member), str):
        raise BadParams(f"completion/complete: ref lacks {member}, a text", hint="it has a type, and a name or a uri")


async def complete(gateway: Gateway, caller: Caller, params: bytes) -> bytes:
    try:
        read = msgspec.json.decode(params or EMPTY_OBJECT, type=_CompleteParams)
    except msgspec.DecodeError as wrong:
        raise BadParams(f"completion/complete: {wrong}") from None
    _check_reference(read.ref)
    asked = Completing(read.ref, read.argument.name, read.argument.value, read.context.arguments, params, caller)
    await gateway.pending.wait_for_servers_unless(lambda: gateway.prompts.completes(asked), caller)
    found = await gateway.prompts.complete(caller, asked)
    if isinstance(found, ForeignCompletion):
        return found.raw
    if len(found.values) > MAX_COMPLETIONS:
        found = Completion(found.values[:MAX_COMPLETIONS], found.total, has_more=True)
    return make_visible(_encode({"completion": found}))

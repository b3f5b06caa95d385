"""The tools `list_resources` and `read_resource`, for agents that support only tools."""

from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawft.errors import ExecutionFailed, NotApproved, ResourceNotFound, TooLarge
from clawft.model import Caller, Resource, ResourceContent, Talk
from clawft.provider.context import ToolContext
from clawft.provider.function import tool

MAX_LISTED = 1_000

ListOwned = Callable[[Caller], Awaitable[Iterable[tuple[str, Resource]]]]
ReadResource = Callable[[str, str, Caller, Talk], Awaitable[bytes]]
"""Reads a resource; gives the whole result of `resources/read`."""
IsServer = Callable[[str, Caller], bool]


class ResourceRow(Struct, rename="camel", omit_defaults=True):
    server: str
    uri: str
    name: str
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET


class _ReadResult(Struct):
    contents: list[ResourceContent] = []


def resource_tools(
    list_owned: ListOwned, read: ReadResource, is_server: IsServer
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`list_resources` and `read_resource` over all resources the gateway offers this caller."""

    @tool(name="list_resources", alias="list_mcp_resources", title="List resources", read_only=True, idempotent=True)
    async def list_resources(
        ctx: ToolContext,
        server: Annotated[str | None, "the server to ask; all of them if left out"] = None,
    ) -> list[ResourceRow]:
        """List the resources of all servers, or of one."""
        owned = await list_owned(ctx.caller)
        found = (_row(owner, resource) for owner, resource in owned if server in (None, owner))
        rows = list(islice(found, MAX_LISTED))
        if not rows and server is not None and not is_server(server, ctx.caller):
            raise ExecutionFailed(f"there is no server '{server}'", hint="leave `server` out to list them all")
        return rows

    @tool(name="read_resource", alias="read_mcp_resource", title="Read a resource", read_only=True, idempotent=True)
    async def read_resource(
        ctx: ToolContext,
        uri: Annotated[str, "the URI, as list_resources names it"],
        server: Annotated[str, "the server that has it; found by itself if left out"] = "",
    ) -> list[ResourceContent]:
        """Read a resource. Text comes as text, everything else as base64."""
        try:
            result = await read(uri, server, ctx.caller, ctx.talk)
        except ResourceNotFound:
            raise ExecutionFailed(f"there is no resource {uri}", hint="weft__list_resources names them") from None
        except (NotApproved, TooLarge) as refused:
            raise ExecutionFailed(refused.message, hint=refused.hint) from None
        return msgspec.json.decode(result, type=_ReadResult).contents

    return list_resources, read_resource


def _row(owner: str, resource: Resource) -> ResourceRow:
    return ResourceRow(owner, resource.uri, resource.name, resource.description, resource.mime_type)

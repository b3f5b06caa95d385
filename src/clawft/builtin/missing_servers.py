"""The tool `weft__missing_servers`, offered only while servers have failed or want a login; it says why."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from clawft.errors import PermissionDenied
from clawft.model import LOCAL
from clawft.provider.context import ToolContext
from clawft.provider.function import tool

NAME = "missing_servers"
WHY_CHARS = 500
"""Characters of the reason, which may be in the server's own words."""


class MissingServer(Struct, frozen=True):
    """A server whose tools cannot be used now."""

    name: str
    state: str
    why: str
    command: str
    """The command that helps, for the person to type."""


def missing_servers_tool(missing: Callable[[], Sequence[MissingServer]]) -> Callable[..., Any]:
    @tool(name=NAME, title="Servers that are missing", read_only=True, idempotent=True)
    async def missing_servers(ctx: ToolContext) -> list[MissingServer]:
        """Tell which MCP servers are not there, why, and which command of the person helps."""
        if ctx.caller.principal != LOCAL:
            raise PermissionDenied(
                NAME, "servers are shown only to the person at this machine", hint="weft servers status"
            )
        return list(missing())

    return missing_servers

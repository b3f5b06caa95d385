"""The tool `weft__start_server`, offered only while servers of the workspace wait for approval."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, cast

from msgspec import Struct

from clawft.errors import ExecutionFailed, InvalidArguments, PermissionDenied, RequestTimeout
from clawft.model import LOCAL
from clawft.provider.context import ToolContext
from clawft.provider.function import tool
from clawft.wire.visible import visible_line

NAME = "start_server"

_FORM: Mapping[str, Any] = {
    "type": "object",
    "properties": {"start": {"type": "boolean", "title": "Start it, now and whenever I work here", "default": False}},
    "required": ["start"],
}


class WaitingServer(Struct, frozen=True):
    """A waiting server: what it would start, line by line, and the command that approves it."""

    name: str
    origin: str
    lines: Sequence[str]
    pin: str
    command: str
    changed: bool = False
    """Whether it differs from the version that was approved."""


def start_server_tool(
    waiting: Callable[[], Awaitable[Mapping[str, WaitingServer]]], approve: Callable[[WaitingServer], Awaitable[None]]
) -> Callable[..., Any]:
    declined: set[str] = set()

    @tool(name=NAME, title="Start a waiting server", idempotent=True)
    async def start_server(name: Annotated[str, "the server that waits"], ctx: ToolContext) -> str:
        """Ask the person to approve the start of an MCP server that the files of this workspace name."""
        known = await waiting()
        server = known.get(name)
        if server is None:
            raise InvalidArguments(f"no server {name!r} waits", hint=f"these do: {', '.join(known) or 'none'}")
        if server.pin in declined:
            raise PermissionDenied(name, "the person declined", hint=server.command)
        if not ctx.caller.capabilities.elicit_form or ctx.caller.principal != LOCAL:
            raise PermissionDenied(name, "the person at this machine must approve it", hint=server.command)
        try:
            answer: object = await ctx.elicit(f"weft_start_{server.pin[-24:]}", _message(server), _FORM)
        except (ExecutionFailed, RequestTimeout) as failed:
            raise PermissionDenied(name, f"nobody answered: {failed.message}", hint=server.command) from None
        if answer is None or answer == {"start": False}:
            declined.add(server.pin)
            raise PermissionDenied(name, "the person declined", hint=server.command)
        if not _says_yes(answer):
            raise PermissionDenied(name, "the client's answer is neither a yes nor a no", hint=server.command)
        await approve(server)
        return f"{name} is approved and starts; its tools are listed when it is ready"

    return start_server


def _says_yes(answer: object) -> bool:
    """Whether the answer is exactly `true`: a number that equals it was never offered."""
    return isinstance(answer, dict) and cast("dict[str, object]", answer).get("start") is True


def _message(server: WaitingServer) -> str:
    """The question. Words of the workspace stand behind bars, so that they cannot pass for ours."""
    shown = [f"│ {part}" for line in server.lines for part in line.splitlines()]
    changed = f" It is not what you approved (weft approvals diff {server.name})." if server.changed else ""
    origin = visible_line(server.origin)  # the name of a folder may be anything
    return "\n".join([f"{origin} names the server {server.name}.{changed} It would start:", *shown, "Start it?"])

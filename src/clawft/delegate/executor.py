"""How the calls of a model are carried out: not at all, from a script, or for real. MCP tools come before built-ins."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal, Protocol

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawft.catalog.snapshot import CatalogEntry
from clawft.delegate.turns import ToolResult
from clawft.errors import ClawftError, JsonRpcFailure, ToolNotFound
from clawft.model import Caller, Reply, Talk
from clawft.provider.texts import texts_of
from clawft.wire.meta import write_delegates

log = logging.getLogger("clawft.delegate")


class ExecutionMode(Enum):
    DISABLED = "disabled"
    MOCK = "mock"
    LIVE = "live"


class ToolCallSpec(Struct, frozen=True):
    tool: str
    input: dict[str, Any] = {}


class ToolExecutionResult(Struct, frozen=True):
    kind: Literal["success", "error", "not_found"]
    text: str = ""

    @property
    def verdict(self) -> str:
        """As it is told to whoever looks on: ok, error or not_found."""
        return "ok" if self.kind == "success" else self.kind

    def to(self, id: str) -> ToolResult:
        """As a model gets it, for the call with this id."""
        return ToolResult(id, self.text, is_error=self.kind != "success")


class ExecutionContext(Struct, frozen=True):
    """In whose name, and how to report."""

    caller: Caller
    talk: Talk
    above: int = 0
    """How many delegates stand above a call."""


class ToolExecutor(Protocol):
    """Never raises for what a tool does; a run goes on whatever happens to one call."""

    @property
    def name(self) -> str: ...

    async def execute(self, spec: ToolCallSpec, tool_use_id: str, ctx: ExecutionContext) -> ToolExecutionResult: ...


class ToolCatalog(Protocol):
    """The tools of each caller."""

    def visible(self, caller: Caller) -> list[CatalogEntry]: ...

    def find_visible(self, name: str, caller: Caller) -> CatalogEntry | None: ...

    def search(self, caller: Caller, query: str, limit: int) -> list[CatalogEntry]: ...


class GatewayView(Protocol):
    """A delegate's view of the gateway: its tools, and the one path every call takes."""

    @property
    def tools(self) -> ToolCatalog: ...

    async def call(
        self, caller: Caller, name: str, arguments: bytes = ..., talk: Talk | None = None, meta: bytes = b""
    ) -> Reply: ...


# ── no calls, and scripted ones ──────────────────────────────────────────────────────────────────────────────────────


class DisabledExecutor:
    name = "disabled"

    async def execute(self, spec: ToolCallSpec, tool_use_id: str, ctx: ExecutionContext) -> ToolExecutionResult:
        return ToolExecutionResult("error", f"{spec.tool}: tool calls are disabled in this run")


class MockAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """A scripted answer of a tool. Without `input` it is the answer to every call of that tool."""

    tool: str
    text: str = ""
    error: bool = False
    input: dict[str, Any] | UnsetType = UNSET


class MockExecutor:
    name = "mock"

    def __init__(self, answers: Sequence[MockAnswer]) -> None:
        self._answers = answers

    async def execute(self, spec: ToolCallSpec, tool_use_id: str, ctx: ExecutionContext) -> ToolExecutionResult:
        for answer in self._answers:
            named = spec.tool == answer.tool or spec.tool.endswith(f"__{answer.tool}")
            if named and answer.input in (UNSET, spec.input):
                return ToolExecutionResult("error" if answer.error else "success", answer.text)
        return not_found(spec.tool)


# ── real ones ────────────────────────────────────────────────────────────────────────────────────────────────────────


class McpExecutor:
    """The tools of connected servers, by any of their names, the bare one too."""

    name = "mcp"

    def __init__(self, gateway: GatewayView) -> None:
        self._gateway = gateway

    async def execute(self, spec: ToolCallSpec, tool_use_id: str, ctx: ExecutionContext) -> ToolExecutionResult:
        entry = self._find(spec.tool, ctx.caller)
        return await _called(self._gateway, entry, spec, ctx) if entry else not_found(spec.tool)

    def _find(self, name: str, caller: Caller) -> CatalogEntry | None:
        found = self._gateway.tools.find_visible(name, caller)
        if found is not None and found.origin.server:
            return found
        bare = (
            entry for entry in self._gateway.tools.visible(caller) if entry.origin.server and entry.tool.name == name
        )
        return next(bare, None)


class LiveExecutor:
    """Real calls: of a server's tool, else of one of ours, or of an installed package's.

    What is not there, or not for this caller, is called all the same, so that the audit knows of it.
    """

    name = "live"

    def __init__(self, gateway: GatewayView) -> None:
        self._gateway = gateway
        self._servers = McpExecutor(gateway)

    async def execute(self, spec: ToolCallSpec, tool_use_id: str, ctx: ExecutionContext) -> ToolExecutionResult:
        result = await self._servers.execute(spec, tool_use_id, ctx)
        if result.kind != "not_found":
            return result
        found = self._gateway.tools.find_visible(spec.tool, ctx.caller)
        own = found if found is not None and not found.origin.server else None
        return await _called(self._gateway, own, spec, ctx)


def not_found(tool: str) -> ToolExecutionResult:
    return ToolExecutionResult("not_found", f"tool not found: {tool}")


async def _called(
    gateway: GatewayView, entry: CatalogEntry | None, spec: ToolCallSpec, ctx: ExecutionContext
) -> ToolExecutionResult:
    name, server = (entry.canonical, entry.origin.server) if entry else (spec.tool, spec.tool)
    try:
        given, above = msgspec.json.encode(spec.input), write_delegates(ctx.above)
        reply = await gateway.call(ctx.caller, name, given, ctx.talk, above)
    except ToolNotFound:
        return not_found(spec.tool)
    except JsonRpcFailure as refused:
        from clawft.provider.server.call.refusal import in_words  # loaded with the first server

        return ToolExecutionResult("error", in_words(server, refused))
    except ClawftError as failed:  # a server that is gone, a bound that is reached
        return ToolExecutionResult("error", str(failed))
    except Exception as broken:
        log.exception("%s broke", spec.tool)
        return ToolExecutionResult("error", f"{spec.tool}: {type(broken).__name__}: {broken}")
    return ToolExecutionResult("error" if reply.is_error else "success", text_of(reply))


def text_of(reply: Reply) -> str:
    result: dict[str, Any] = msgspec.json.decode(reply.result)
    return "\n".join(texts_of(result.get("content", []), result.get("structuredContent")))

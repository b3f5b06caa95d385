"""All servers as one client, for delegates and programs that name the server of each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

import msgspec
from msgspec import Struct

from clawft.errors import ProtocolFailure, ResourceNotFound, ServerNotFound
from clawft.model import CallToolResult, Resource, ResourceContent
from clawft.provider.server.server_provider import ServerProvider
from clawft.provider.server.server_providers import ServerProviders
from clawft.upstream.pool import Pool
from clawft.upstream.reasons import not_connected
from clawft.upstream.state import DOWN


class McpClient(Protocol):
    """Structured results only; an unknown server raises ServerNotFound, one that is down NotConnected."""

    async def list_resources(self, server: str) -> Sequence[Resource]: ...

    async def read_resource(self, server: str, uri: str) -> Sequence[ResourceContent]: ...

    async def call_tool(self, server: str, tool: str, arguments: Mapping[str, Any]) -> CallToolResult: ...


class PoolClient:
    """The client over the servers of a pool."""

    def __init__(self, pool: Pool, providers: ServerProviders) -> None:
        self._pool = pool
        self._providers = providers

    async def list_resources(self, server: str) -> Sequence[Resource]:
        provider = self._of(server)
        if self._pool.find(server).state in DOWN:
            await self._pool.get(server)  # raises, saying why, unless it is back
        return [each.view for each in provider.list_resources()]

    async def read_resource(self, server: str, uri: str) -> Sequence[ResourceContent]:
        result = await (await self._connected(server)).read_resource(uri)
        if result is None:
            raise ResourceNotFound(uri)
        try:
            return msgspec.json.decode(result, type=_Contents).contents
        except msgspec.DecodeError as wrong:
            raise ProtocolFailure(f"{server}: the contents of {uri} cannot be read: {wrong}") from None

    async def call_tool(self, server: str, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        return await (await self._connected(server)).call_tool(tool, arguments)

    async def _connected(self, server: str) -> ServerProvider:
        provider = self._of(server)
        await self._pool.get(server)
        return provider

    def _of(self, server: str) -> ServerProvider:
        upstream, provider = self._pool.find(server), self._providers.find(server)
        if provider is None:
            raise not_connected(server, upstream.state, upstream.error or upstream.state.value)
        return provider


class NoServers:
    """The client where no server is configured."""

    async def list_resources(self, server: str) -> Sequence[Resource]:
        _none()

    async def read_resource(self, server: str, uri: str) -> Sequence[ResourceContent]:
        _none()

    async def call_tool(self, server: str, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        _none()


class _Contents(Struct):
    contents: list[ResourceContent]


def _none() -> NoReturn:
    raise ServerNotFound("no MCP servers configured", hint="weft servers add NAME -- COMMAND")

"""What tests of the built-ins share: the families of a workspace, as a gateway would get them."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from clawft.builtin import families
from clawft.model import CallToolResult
from clawft.provider.base import Provider
from clawft.store.memory import MemoryStore

CallTool = Callable[..., Awaitable[CallToolResult]]


@pytest.fixture
def providers(workspace: Path) -> Mapping[str, Provider]:
    """Every family by its namespace."""

    def store_for(agent: str, namespace: str) -> MemoryStore:
        return MemoryStore()

    return {each.namespace: each for each in families(workspace, store_for)}


@pytest.fixture
def call(providers: Mapping[str, Provider]) -> CallTool:
    """`await call("file", "read", path="a")`"""

    async def call_tool(namespace: str, name: str, **arguments: Any) -> CallToolResult:
        return await providers[namespace].call_tool(name, arguments)

    return call_tool

"""What the tests of delegation share: a gateway with a few tools, a scripted API, someone who listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from clawft.catalog.snapshot import CatalogEntry
from clawft.delegate.endpoint import Endpoint
from clawft.delegate.events import RunEvent
from clawft.delegate.executor import ExecutionContext
from clawft.delegate.scenario import Scenario, parse
from clawft.delegate.turns import HistoryEntry
from clawft.errors import ExecutionFailed
from clawft.gateway.core import Gateway
from clawft.guard.permission import Permission
from clawft.link.http_in.server import HttpServer, of_asgi
from clawft.model import Call, Caller, SilentTalk
from clawft.provider.function import FunctionProvider, tool
from clawft.store.memory import MemoryStore

CONTEXT = ExecutionContext(Caller(), SilentTalk())


@tool(read_only=True)
async def echo(text: str = "") -> str:
    """Give the text back."""
    return f"echo: {text}"


@tool
async def fail() -> str:
    """Always fails."""
    raise ExecutionFailed("it broke")


@tool
async def hang() -> str:
    """Never answers."""
    await asyncio.Event().wait()
    return ""


def gateway(*, server: str = "") -> Gateway:
    """The tools `demo__echo`, `demo__fail` and `demo__hang`, of a server if one is named."""

    def names_of(call: Call) -> tuple[str, ...]:
        return made.tools.names_of(call.name, call.caller)

    made = Gateway([Permission(names_of)])
    provider = FunctionProvider("demo", [echo, fail, hang], workspace=Path.cwd(), store=MemoryStore())
    made.register(provider, server=server)
    return made


def named(made: Gateway, name: str) -> CatalogEntry:
    found = made.tools.find(name)
    assert found is not None
    return found


class Listener:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[RunEvent] = []
        self.kept: list[HistoryEntry] = []
        self._news = asyncio.Event()

    def tell(self, event: RunEvent) -> None:
        self.events.append(event)
        self._news.set()

    async def heard(self, kind: type[Any]) -> None:
        """Wait until an event of this kind has happened."""
        while not self.of(kind):
            self._news.clear()
            await self._news.wait()

    def record(self, entry: HistoryEntry) -> None:
        self.kept.append(entry)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def scenario(text: str) -> Scenario:
    return parse(text.encode(), "test.toml")


@asynccontextmanager
async def scripted_api(text: str) -> AsyncGenerator[tuple[str, Sequence[tuple[str, dict[str, Any]]]]]:
    """The address of an API that follows the script, and the requests it has had."""
    requests: list[tuple[str, dict[str, Any]]] = []
    server = HttpServer(of_asgi(Endpoint(scenario(text), lambda path, body: requests.append((path, body)))))
    host, port = await server.start()
    try:
        yield f"http://{host}:{port}", requests
    finally:
        await server.stop(1.0)

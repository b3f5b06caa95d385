"""What the gateway tests share: a provider whose tools are plain functions of the call, and a caller on a pipe."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from clawft.gateway.core import Gateway
from clawft.gateway.pipe import PipeCaller
from clawft.guard.permission import Permission
from clawft.guard.pipeline import Guard
from clawft.model import Call, Caller, CallToolResult, Reply, Tool
from clawft.provider.base import Changes
from clawft.upstream.pending_servers import PendingServers
from clawft.wire.meta import CAPABILITIES, LOG_LEVEL, TASKS, VERSION

SECONDS = 5.0
"""Nothing a test waits for takes longer."""

Json = dict[str, Any]
Run = Callable[[Call], Awaitable[Reply]]


class Demo:
    """A provider of tools that may come and go: `add("echo", run)`."""

    def __init__(self, namespace: str = "demo") -> None:
        self.namespace = namespace
        self.called: list[str] = []
        self._tools: dict[str, tuple[Tool, Run]] = {}
        self._changes: Changes | None = None

    def add(self, name: str, run: Run, schema: Json | None = None, **fields: Any) -> Demo:
        wire = json.dumps({"name": name, "inputSchema": schema or {"type": "object"}}).encode()
        tool = Tool(name, wire, **fields)
        self._tools[name] = (tool, run)
        if self._changes is not None:
            self._changes.tools_changed()
        return self

    def watch(self, changes: Changes) -> None:
        self._changes = changes

    def list_tools(self) -> Sequence[Tool]:
        return [tool for tool, _ in self._tools.values()]

    async def run(self, call: Call) -> Reply:
        self.called.append(call.tool.name)
        return await self._tools[call.tool.name][1](call)

    async def call_tool(self, name: str, arguments: object) -> CallToolResult:
        raise NotImplementedError("the gateway uses run")


def serving(*providers: Any, guards: Sequence[Guard] = (), **options: Any) -> Gateway:
    """A gateway with permission first, then these guards, serving these providers."""

    def names_of(call: Call) -> Sequence[str]:
        return gateway.tools.names_of(call.name, call.caller)

    gateway = Gateway([Permission(names_of), *guards], **options)
    for provider in providers:
        gateway.register(provider)
    return gateway


async def echo(call: Call) -> Reply:
    return Reply.text(call.arguments.decode())


class Gate:
    """A tool that waits until the test lets it go on, and tells when it has begun and how it ended."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, call: Call) -> Reply:
        self.begun.set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return Reply.text("through")


class Streaming(Gate):
    """Says something first, so that the answer is a stream."""

    async def __call__(self, call: Call) -> Reply:
        call.talk.progress(1)
        return await super().__call__(call)


class Late(PendingServers):
    """One server is on its way, and has come as soon as somebody has waited for it."""

    waits = 0

    @property
    def any_starting(self) -> bool:
        return not self.waits

    async def wait_for_next(self) -> None:
        self.waits += 1


async def soon(event: asyncio.Event) -> None:
    async with asyncio.timeout(SECONDS):
        await event.wait()


async def turns(true: Callable[[], object]) -> None:
    """Let the loop turn until this is so."""
    async with asyncio.timeout(SECONDS):
        while not true():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0)


async def closing_has_begun() -> None:
    """A drain that was just started has closed every door after a few turns."""
    for _ in range(10):
        await asyncio.sleep(0)


def texts(message: Json) -> list[str]:
    """The texts of an answer to tools/call."""
    return [block["text"] for block in message["result"]["content"]]


# ── the stateless era ────────────────────────────────────────────────────────────────────────────────────────────────

WITH_TASKS: Json = {"extensions": {TASKS: {}}}


def modern(capabilities: Json | None = None, *, level: str = "", token: Any = None, **params: Any) -> Json:
    """Params of a 2026-07-28 request."""
    meta: Json = {VERSION: "2026-07-28", CAPABILITIES: capabilities or {}}
    if level:
        meta[LOG_LEVEL] = level
    if token is not None:
        meta["progressToken"] = token
    return {**params, "_meta": meta}


# ── a pipe ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Pipe:
    """The other end of a pipe: what we write goes in, what was written stays in `messages`."""

    def __init__(self, gateway: Gateway, caller: Caller) -> None:
        self.messages: list[Any] = []
        """Answers, notices and requests as objects; a batch as a list."""
        self._ids = itertools.count(1)
        self._news = asyncio.Event()
        self.served = PipeCaller(gateway, caller, self._written)

    def _written(self, message: bytes) -> None:
        self.messages.append(json.loads(message))
        self._news.set()

    def line(self, line: bytes) -> None:
        self.served.accept(line)

    def write(self, message: Any) -> None:
        self.line(json.dumps(message).encode())

    def notify(self, method: str, **params: Any) -> None:
        self.write({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def send(self, method: str, params: Json | None = None, id: Any = None) -> Any:
        """Send a request without waiting; its id."""
        id = next(self._ids) if id is None else id
        self.write({"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})})
        return id

    async def ask(self, method: str, params: Json | None = None, id: Any = None) -> Json:
        """Send a request and wait for its answer."""
        return await self.answer(self.send(method, params, id))

    async def call(self, name: str, params: Json | None = None, **arguments: Any) -> Json:
        return await self.ask("tools/call", {**(params or {}), "name": name, "arguments": arguments})

    async def answer(self, id: Any) -> Json:
        return await self.message(lambda m: "method" not in m and m.get("id") == id and type(m["id"]) is type(id))

    async def notice(self, method: str) -> Json:
        return await self.message(lambda m: m.get("method") == method)

    async def message(self, wanted: Callable[[Json], bool]) -> Json:
        """The first message like this, taken out."""
        async with asyncio.timeout(SECONDS):
            while True:
                for at, message in enumerate(self.messages):
                    if not isinstance(message, list) and wanted(message):
                        return self.messages.pop(at)
                self._news.clear()
                await self._news.wait()

    async def batch(self) -> list[Json]:
        """The first batch of answers, taken out."""
        async with asyncio.timeout(SECONDS):
            while True:
                for at, message in enumerate(self.messages):
                    if isinstance(message, list):
                        return self.messages.pop(at)
                self._news.clear()
                await self._news.wait()

    async def initialize(self, revision: str = "2025-11-25", capabilities: Json | None = None) -> Json:
        hello = {
            "protocolVersion": revision,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        answer = await self.ask("initialize", hello)
        self.notify("notifications/initialized")
        return answer


@asynccontextmanager
async def pipe(gateway: Gateway, caller: Caller | None = None) -> AsyncGenerator[Pipe]:
    end = Pipe(gateway, caller or Caller())
    try:
        yield end
    finally:
        end.served.close()
        await end.served.running.drain(0)
        await gateway.close()

"""Agents of both eras over both transports, with one face, and none of our own code in them."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import aiohttp

from tests.matrix.cells import Era

PATIENCE_S = 20.0
"""How long anything may take on a busy machine."""
STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"
TASKS = META + "tasks"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Json = dict[str, Any]


class Heard:
    """A notice or a request from the other side, and the request on whose stream it came, where that shows."""

    def __init__(self, message: Json, stream: int | None) -> None:
        self.method: str = message["method"]
        self.params: Json = message.get("params") or {}
        self.id: Any = message.get("id")
        self.stream = stream

    @property
    def subscription(self) -> int:
        """The listen it came by; 0 where there is none."""
        meta: Json = self.params.get("_meta") or {}
        return meta.get(META + "subscriptionId", 0)


class Line(Protocol):
    """How messages go out. What comes back is given to the agent."""

    def send(self, message: Json) -> None: ...

    def leave(self, id: int) -> None:
        """Stop waiting for this answer by closing its connection."""
        ...

    async def opened(self) -> None:
        """The handshake is done."""
        ...


class Agent:
    def __init__(self, era: Era, capabilities: Json | None = None) -> None:
        self.era = era
        self.capabilities = capabilities or {}
        self.heard: list[Heard] = []
        self.revision = STATELESS
        self.line: Line
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._news = asyncio.Event()

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, method: str, params: Json | None = None) -> int:
        """Send a request; its id."""
        id = next(self._ids)
        self._waiting[id] = asyncio.get_running_loop().create_future()
        told = {**(params or {})}
        if self.era == "stateless":
            told["_meta"] = self._envelope() | (told.get("_meta") or {})
        self.line.send({"jsonrpc": "2.0", "id": id, "method": method, "params": told})
        return id

    def _envelope(self) -> Json:
        return {META + "protocolVersion": STATELESS, META + "clientCapabilities": self.capabilities}

    async def answer(self, id: int) -> Json:
        async with asyncio.timeout(PATIENCE_S):
            return await self._waiting[id]

    def answered(self, id: int) -> bool:
        return self._waiting[id].done()

    async def ask(self, method: str, **params: Any) -> Json:
        return await self.answer(self.start(method, params))

    async def result(self, method: str, **params: Any) -> Json:
        answer = await self.ask(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def start_call(self, tool: str, *, progress: Any = None, meta: Json | None = None, **arguments: Any) -> int:
        told = {**(meta or {}), **({} if progress is None else {"progressToken": progress})}
        return self.start("tools/call", {"name": tool, "arguments": arguments, **({"_meta": told} if told else {})})

    async def call(self, tool: str, **arguments: Any) -> Json:
        """The result of a tool."""
        answer = await self.answer(self.start_call(tool, **arguments))
        assert "result" in answer, answer
        return answer["result"]

    async def say(self, tool: str, **arguments: Any) -> str:
        """The text of a tool."""
        return (await self.call(tool, **arguments))["content"][0]["text"]

    def notify(self, method: str, **params: Any) -> None:
        self.line.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def cancel(self, id: int) -> None:
        """In the form of the era and the transport."""
        if self.era == "stateless" and isinstance(self.line, HttpLine):
            self.line.leave(id)
        else:
            self.notify("notifications/cancelled", requestId=id)

    async def hang_up(self) -> None:
        """Leave without a word: over HTTP only."""
        assert isinstance(self.line, HttpLine)
        await self.line.hang_up()

    # ── what comes ───────────────────────────────────────────────────────────────────────────────────────────────────

    def accept(self, message: Json, stream: int | None) -> None:
        if "method" in message:
            self.heard.append(Heard(message, stream))
        elif message.get("id") in self._waiting and not self._waiting[message["id"]].done():
            self._waiting[message["id"]].set_result(message)
        self._news.set()

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not true():
                self._news.clear()
                await self._news.wait()

    async def notice(self, method: str, fits: Callable[[Json], object] = lambda params: True) -> Heard:
        """The first notice like this."""
        await self.until(lambda: self.notices(method, fits))
        return self.notices(method, fits)[0]

    def notices(self, method: str, fits: Callable[[Json], object] = lambda params: True) -> list[Heard]:
        return [heard for heard in self.heard if heard.method == method and fits(heard.params)]

    # ── what both eras can do, each in its way ───────────────────────────────────────────────────────────────────────

    async def watch(self, uris: list[str] | None = None, tasks: list[str] | None = None) -> int:
        """Be told of changes; the id of the stream, where there is one."""
        if self.era == "handshake":
            for uri in uris or ():
                await self.result("resources/subscribe", uri=uri)
            return 0
        wanted: Json = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        wanted |= ({"resourceSubscriptions": uris} if uris else {}) | ({"taskIds": tasks} if tasks else {})
        id = self.start("subscriptions/listen", {"notifications": wanted})
        mark = META + "subscriptionId"
        await self.notice("notifications/subscriptions/acknowledged", lambda told: told["_meta"][mark] == id)
        return id

    async def unwatch(self, stream: int, *uris: str) -> None:
        if self.era == "handshake":
            for uri in uris:
                await self.result("resources/unsubscribe", uri=uri)
        else:
            self.cancel(stream)

    async def open(self, revision: str) -> Json:
        if self.era == "stateless":
            return await self.result("server/discover")
        self.revision = revision
        hello = {"protocolVersion": revision, "capabilities": self.capabilities}
        told = await self.result("initialize", **hello, clientInfo={"name": "agent", "version": "1"})
        self.notify("notifications/initialized")
        await self.line.opened()
        return told

    async def ready(self) -> None:
        """The server behind the gateway is up: its tools are listed."""
        async with asyncio.timeout(PATIENCE_S):
            while not any(tool["name"] == "echo" for tool in (await self.result("tools/list"))["tools"]):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


# ── lines ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class PipeLine:
    def __init__(self, agent: Agent, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:  # never with PIPE; the type does not know
            raise RuntimeError("the process has no pipes")
        self._stdin, self._stdout = process.stdin, process.stdout
        self._agent = agent
        self.reading = asyncio.ensure_future(self._read())

    def send(self, message: Json) -> None:
        self._stdin.write(json.dumps(message).encode() + b"\n")

    def leave(self, id: int) -> None:
        raise NotImplementedError("a pipe has no connection for each request")

    async def opened(self) -> None:
        pass

    async def _read(self) -> None:
        while line := await self._stdout.readline():
            self._agent.accept(json.loads(line), None)


class HttpLine:
    def __init__(self, agent: Agent, url: str, client: aiohttp.ClientSession, headers: dict[str, str]) -> None:
        self._agent = agent
        self._url = url
        self._client = client
        self.more = headers
        self._session = ""
        self._open: dict[int, asyncio.Task[None]] = {}
        self.others: set[asyncio.Task[None]] = set()
        self._listening = asyncio.Event()

    def send(self, message: Json) -> None:
        task = asyncio.ensure_future(self._post(message))
        self.others.add(task)
        if "id" in message and "method" in message:
            self._open[message["id"]] = task

    def leave(self, id: int) -> None:
        self._open[id].cancel()

    async def hang_up(self) -> None:
        """Close every connection, as a machine that goes away."""
        for task in self.others:
            task.cancel()
        await asyncio.gather(*self.others, return_exceptions=True)

    def _headers(self, message: Json) -> dict[str, str]:
        headers = {"Accept": "application/json, text/event-stream", **self.more}
        method = message.get("method", "")
        if self._agent.era == "stateless":
            headers |= {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
            name = message.get("params", {}).get(NAMED.get(method, "taskId"))
            return {**headers, "Mcp-Name": name} if name else headers
        if self._session:
            headers |= {"Mcp-Session-Id": self._session, "MCP-Protocol-Version": self._agent.revision}
        return headers

    async def _post(self, message: Json) -> None:
        stream = message.get("id")
        async with self._client.post(self._url, json=message, headers=self._headers(message)) as response:
            if message.get("method") == "initialize":
                self._session = response.headers["Mcp-Session-Id"]
            if response.content_type == "text/event-stream":
                await self._read(response, stream)
            elif response.content_type == "application/json":
                self._agent.accept(await response.json(), stream)

    async def opened(self) -> None:
        """Sessions have a stream for what belongs to no request."""
        self.others.add(asyncio.ensure_future(self._listen()))
        await self._listening.wait()

    async def _listen(self) -> None:
        headers = {**self._headers({}), "Accept": "text/event-stream"}
        async with self._client.get(self._url, headers=headers) as response:
            self._listening.set()
            await self._read(response, None)

    async def _read(self, response: aiohttp.ClientResponse, stream: int | None) -> None:
        async for line in response.content:
            if line.startswith(b"data:") and line[5:].strip():
                self._agent.accept(json.loads(line[5:]), stream)


@asynccontextmanager
async def over_http(agent: Agent, url: str, headers: dict[str, str] | None = None) -> AsyncGenerator[Agent]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as client:
        line = agent.line = HttpLine(agent, url, client, headers or {})
        try:
            yield agent
        finally:
            await line.hang_up()

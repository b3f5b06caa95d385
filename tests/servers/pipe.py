"""A client of `weft mcp-server` that writes the bytes it likes and reads line by line."""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.servers.weft import MCP_SERVER, PROBE, STOP_S, environment, peak_memory

PATIENCE_S = 60.0
"""How long any one answer may take on a busy machine."""
LONGEST_LINE = 64 * 1024 * 1024
NEWEST = "2025-11-25"
STATELESS = "2026-07-28"

Json = dict[str, Any]


def line(message: object) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def request(id: int | str, method: str, params: Mapping[str, Any] | None = None) -> bytes:
    message: Json = {"jsonrpc": "2.0", "id": id, "method": method}
    return line(message if params is None else {**message, "params": params})


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    message: Json = {"jsonrpc": "2.0", "method": method}
    return line(message if params is None else {**message, "params": params})


def call(id: int | str, tool: str, arguments: Mapping[str, Any] | None = None, **params: Any) -> bytes:
    return request(id, "tools/call", {"name": tool, "arguments": arguments or {}, **params})


def modern_meta(**more: Any) -> Json:
    return {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        **more,
    }


def cancelled(id: int | str) -> bytes:
    return notification("notifications/cancelled", {"requestId": id})


def text_of(answer: Json) -> str:
    """The first text block of a tool result."""
    return answer["result"]["content"][0]["text"]


class Pipe:
    """One process. `others` keeps what came while we waited for something else."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.others: list[Json] = []
        self._ids = itertools.count(1_000_000)
        if process.stdin is None or process.stdout is None:  # never with PIPE; the type does not know
            raise RuntimeError("the process has no pipes")
        self.stdin, self.stdout = process.stdin, process.stdout

    @property
    def pid(self) -> int:
        return self.process.pid

    async def send(self, *lines: bytes) -> None:
        async with asyncio.timeout(PATIENCE_S):
            self.stdin.write(b"".join(lines))
            await self.stdin.drain()

    async def read(self) -> Json:
        """The next message, whatever it is. Every line must be one."""
        async with asyncio.timeout(PATIENCE_S):
            raw = await self.stdout.readline()
        if not raw:
            raise EOFError(f"weft closed its output; stderr:\n{self.stderr()}")
        return json.loads(raw)

    async def answer(self, id: int | str | None) -> Json:
        """The answer with this id; anything else goes to `others`."""
        while True:
            message = await self.read()
            if "method" not in message and message.get("id") == id:
                return message
            self.others.append(message)

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> Json:
        id = next(self._ids)
        await self.send(request(id, method, params))
        return await self.answer(id)

    async def open(self, revision: str = NEWEST, **capabilities: Any) -> Json:
        """The handshake; the result of initialize."""
        hello = {
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "raw", "version": "1"},
        }
        answer = await self.ask("initialize", hello)
        await self.send(notification("notifications/initialized"))
        return answer["result"]

    async def is_well(self) -> None:
        """The next good request is answered, and memory is within bounds."""
        id = next(self._ids)
        await self.send(call(id, "probe__echo", {"token": f"still {id}"}))
        assert f"still {id}" in text_of(await self.answer(id))

    def peak(self) -> int:
        return peak_memory(self.pid)

    def stderr(self) -> str:
        return (self.folder / "stderr").read_text(errors="replace")

    async def rest(self) -> list[Json]:
        """Close our side; everything that still comes."""
        self.stdin.close()
        async with asyncio.timeout(PATIENCE_S):
            said = await self.stdout.read()
        return [json.loads(raw) for raw in said.splitlines()]

    async def end(self) -> int:
        """Close our side; the exit status."""
        self.stdin.close()
        return await asyncio.wait_for(self.process.wait(), STOP_S)


@asynccontextmanager
async def mcp_server(
    folder: Path, *options: str, package: Path = PROBE, longest: int = LONGEST_LINE
) -> AsyncGenerator[Pipe]:
    """Start `weft mcp-server` in `folder`; killed at the end if it still runs.

    `longest` is the longest line we can read, and half of what we take in before someone asks for it.
    """
    with (folder / "stderr").open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *MCP_SERVER,
            *options,
            cwd=folder,
            env=environment(folder, package),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            limit=longest,
        )
    pipe = Pipe(process, folder)
    try:
        yield pipe
    finally:
        await _end(pipe)


async def _end(pipe: Pipe) -> None:
    pipe.stdin.close()
    try:
        async with asyncio.timeout(STOP_S):
            await _gone(pipe)
    except TimeoutError:
        pipe.process.kill()
        await _gone(pipe)


async def _gone(pipe: Pipe) -> None:
    await pipe.stdout.read()  # to its end: asyncio is not told of a death while there is something to read
    await pipe.process.wait()

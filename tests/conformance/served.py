"""A real `weft gateway` that serves the fixture, for as long as a block runs."""

import asyncio
import json
import os
import re
import shlex
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

START_S = 30.0
STOP_S = 12.0
"""The gateway promises to be gone within 10 s of SIGTERM."""
KEPT_LINES = 40

ROOT = Path(__file__).parents[2]
PACKAGE = Path(__file__).parent / "package"
ARGV = (sys.executable, "-m", "clawft", "gateway", "--no-auth", "--port", "0", "--names", "bare", "--no-builtin")
_URL = re.compile(r"http://127\.0\.0\.1:(\d+)/mcp")


class NotServed(Exception):
    """The gateway did not say where it listens; its last lines are the message."""


def environment(home: Path, package: Path | None = PACKAGE) -> dict[str, str]:
    """Ours, with the fixture installed beside us and a home of its own."""
    places = [str(package)] if package is not None else []
    path = os.pathsep.join([*places, str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "CLAWFT_HOME": str(home / "home")}


@asynccontextmanager
async def gateway(folder: Path, *options: str, package: Path | None = PACKAGE) -> AsyncGenerator[str]:
    """Start it in `folder`, give its URL (by the name localhost, as the suite wants), stop it at the end."""
    process = await asyncio.create_subprocess_exec(
        *ARGV,
        *options,
        cwd=folder,
        env=environment(folder, package),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    if process.stdout is None:  # never with PIPE; the type does not know
        raise NotServed("the gateway has no output to read")
    lines: deque[str] = deque(maxlen=KEPT_LINES)
    url = asyncio.get_running_loop().create_future()
    reader = asyncio.create_task(_read(process.stdout, lines, url))
    try:
        yield await _within(url, lines)
    finally:
        await _stop(process, reader)
        await reader


def through(era: str) -> Callable[[Path], AbstractAsyncContextManager[str]]:
    """A gateway without the fixture, in front of one that has it, which it speaks to in this era."""

    @asynccontextmanager
    async def served(folder: Path) -> AsyncGenerator[str]:
        behind, front = folder / "behind", folder / "front"
        behind.mkdir()
        front.mkdir()
        async with gateway(behind) as url:
            server = {"url": url, "era": era, "required": True}
            told = json.dumps({"mcpServers": {"fixture": server}})
            async with gateway(front, "--mcp-config", told, package=None) as mine:
                yield mine

    return served


@asynccontextmanager
async def client(folder: Path) -> AsyncGenerator[str]:
    """The command of our client; the suite starts it itself, with the URL behind."""
    yield shlex.join([sys.executable, str(Path(__file__).parent / "client.py")])


async def _read(output: asyncio.StreamReader, lines: deque[str], url: asyncio.Future[str]) -> None:
    """Keep reading to the end, so that the gateway never waits for us."""
    async for raw in output:
        line = raw.decode(errors="replace").rstrip()
        lines.append(line)
        found = _URL.search(line)
        if found and not url.done():
            url.set_result(f"http://localhost:{found[1]}/mcp")
    if not url.done():
        url.set_exception(NotServed("\n".join(["the gateway ended before it listened:", *lines])))


async def _within(url: asyncio.Future[str], lines: deque[str]) -> str:
    try:
        return await asyncio.wait_for(url, START_S)
    except TimeoutError:
        said = "\n".join([f"no URL within {START_S:g} s; the gateway said:", *lines])
        raise NotServed(said) from None


async def _stop(process: asyncio.subprocess.Process, reader: asyncio.Task[None]) -> None:
    if not reader.done():  # its output is closed: it is ending by itself, and a signal would race with its end
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()

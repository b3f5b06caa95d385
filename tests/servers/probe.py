"""Tools whose doings can be seen from outside: they wait, leave marks in the workspace, print, and flood."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import msgspec

from clawft.provider.context import ToolContext
from clawft.provider.function import FunctionProvider, tool
from clawft.store.memory import MemoryStore

STARTED, ENDED, CANCELLED = "started", "ended", "cancelled"


class Echoed(msgspec.Struct):
    token: str


@tool(read_only=True, title="Echo")
async def echo(token: str) -> Echoed:
    """Give back what came, as text and as structured content."""
    return Echoed(token)


@tool(read_only=True)
async def wait(token: str, seconds: float, ctx: ToolContext) -> str:
    """Give back the token after a while; who wants to hear of its progress hears that it has begun."""
    ctx.progress(0, 1, "begun")
    await asyncio.sleep(seconds)
    return token


@tool()
async def hold(mark: str, seconds: float, ctx: ToolContext) -> str:
    """Leave `<mark>.started`, then `.ended`, or `.cancelled` if someone stops it, in the workspace."""
    _leave(ctx, mark, STARTED)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        _leave(ctx, mark, CANCELLED)
        raise
    _leave(ctx, mark, ENDED)
    return mark


def _leave(ctx: ToolContext, mark: str, what: str) -> None:
    (ctx.workspace / f"{mark}.{what}").touch()


@tool()
def shout() -> str:
    """Print on stdout in every way a careless tool could."""
    print("printed by a tool", flush=True)
    sys.stdout.write("written by a tool\n")
    sys.stdout.flush()
    os.write(1, b"written to descriptor 1\n")
    subprocess.run(["echo", "said by a child of a tool"], check=True)
    return "said"


@tool()
async def flood(count: int, size: int, ctx: ToolContext) -> str:
    """Report progress `count` times, with a message of `size` letters each."""
    for step in range(count):
        ctx.progress(step + 1, count, "x" * size)
        await asyncio.sleep(0)
    return "flooded"


def make(workspace: Path) -> FunctionProvider:
    return FunctionProvider("probe", [echo, wait, hold, shout, flood], workspace=workspace, store=MemoryStore)

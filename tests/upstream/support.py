"""Servers for the pool: tables of answers, and real children."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from clawft.link.base import Link
from clawft.link.memory import MemoryLink, Scripted
from clawft.upstream.links import links_to
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.state import ServerState

HONEST = str(Path(__file__).parents[1] / "servers" / "honest.py")
PATIENCE_S = 20.0


def tool(name: str, **annotations: bool) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": annotations}


def answers(*tools: str, **more: Scripted) -> dict[str, Scripted]:
    return {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "table"}},
        "tools/list": {"tools": [tool(name) for name in tools or ("one",)]},
        "tools/call": {"content": [{"type": "text", "text": "called"}]},
        "ping": {},
        **more,
    }


def child(name: str, *options: str, **more: Any) -> UpstreamSpec:
    return UpstreamSpec(name, command=sys.executable, args=(HONEST, *options), **more)


ADDRESS = "http://127.0.0.1:9/mcp"
"""Of a table that is reached by one."""


def table(name: str, **more: Any) -> UpstreamSpec:
    """A program, unless it is given an address."""
    return UpstreamSpec(name, command="" if "url" in more else "table", **more)


class Tables:
    """GuardedChains to servers that are tables; every link ever made is kept, by server."""

    def __init__(self, tables: Mapping[str, Mapping[str, Scripted]] | None = None) -> None:
        self.tables = dict(tables or {})
        self.links: dict[str, list[MemoryLink]] = {}

    def __call__(self, spec: UpstreamSpec) -> list[Callable[[], Link]]:
        if spec.command != "table" and spec.url != ADDRESS:
            return links_to(spec)
        return [lambda: self._make(spec.name)]

    def _make(self, name: str) -> MemoryLink:
        link = MemoryLink(self.tables.get(name, answers()))
        self.links.setdefault(name, []).append(link)
        return link

    def last(self, name: str) -> MemoryLink:
        return self.links[name][-1]

    @property
    def open(self) -> set[str]:
        return {name for name, links in self.links.items() if links[-1].opened > links[-1].closed}


@asynccontextmanager
async def pool(folder: Path, ways: Tables | None = None, **options: Any) -> AsyncGenerator[Pool]:
    made = Pool(folder / "cache", ways or Tables(), [{"uri": "file:///w", "name": "w"}], **options)
    async with asyncio.timeout(PATIENCE_S * 3):
        try:
            yield made
        finally:
            await made.close()


async def until(condition: Callable[[], bool]) -> None:
    """Something that happens by itself, within bounds."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for knows nothing of us
            await asyncio.sleep(0.005)


def state(of: Pool, name: str) -> ServerState:
    return of.find(name).state

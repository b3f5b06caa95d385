"""Families that are loaded by their first call: their definitions are in `definitions.json` beside this file.

Making the definitions of all tools takes a third of a start, and most tools are never called. The file is made by
`python -m clawft.builtin.lazy` and committed; a test makes it anew and compares.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from clawft.builtin.ide.resources import RESOURCES as IDE_RESOURCES
from clawft.model import (
    Annotations,
    Call,
    CallToolResult,
    Capabilities,
    Reply,
    Resource,
    ResourceContent,
    ResourceTemplate,
    TaskSupport,
    Tool,
)
from clawft.model.protocols import is_of
from clawft.provider.base import Changes, Changing, Provider, RawProvider, ResourceProvider, end_of

ALWAYS_LOADED = frozenset({"weft"})
"""Families with more than tools: resources, prompts, completion."""
RESOURCES: Mapping[str, tuple[Resource, ...]] = {"ide": IDE_RESOURCES}
"""Families with a fixed list of resources; the contents come from the loaded family."""
FILE = Path(__file__).with_name("definitions.json")

Load = Callable[[str], Provider]


class LazyFamily:
    """A family that lists its tools at once and is loaded by the first call."""

    def __init__(self, namespace: str, tools: tuple[Tool, ...], load: Load) -> None:
        self.namespace = namespace
        self._tools = tools
        self._load = load
        self._loaded: Provider | None = None
        self._loading: asyncio.Future[Provider] | None = None

    def list_tools(self) -> Sequence[Tool]:
        return self._tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        return await (await self.load()).call_tool(name, arguments)

    async def run(self, call: Call) -> Reply:
        provider = self._loaded or await self._arrived()
        return await (provider.run(call) if is_of(provider, RawProvider) else end_of(provider)(call))

    async def load(self) -> Provider:
        """The family itself, loaded if needed."""
        return self._loaded or await self._arrived()

    async def _arrived(self) -> Provider:
        """Load it once, in a thread, as importing a large family takes time."""
        loading = self._loading
        if loading is None:
            loading = self._loading = asyncio.ensure_future(asyncio.to_thread(self._load, self.namespace))
            loading.add_done_callback(self._ended)
        return await asyncio.shield(loading)

    def _ended(self, loading: asyncio.Future[Provider]) -> None:
        """If loading failed, the next call tries again."""
        self._loading = None
        if not loading.cancelled() and loading.exception() is None:
            self._loaded = loading.result()


class LazyResources(LazyFamily):
    """A lazy family with resources, whose names are known before it is loaded."""

    _changes: Changes | None = None

    def list_resources(self) -> Sequence[Resource]:
        return RESOURCES[self.namespace]

    def list_templates(self) -> Sequence[ResourceTemplate]:
        return ()

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | bytes | None:
        if all(each.uri != uri for each in self.list_resources()):
            return None
        provider = await self.load()
        return await provider.read_resource(uri) if is_of(provider, ResourceProvider) else None

    def watch(self, changes: Changes) -> None:
        self._changes = changes

    def _ended(self, loading: asyncio.Future[Provider]) -> None:
        super()._ended(loading)
        if self._loaded is not None and self._changes is not None and is_of(self._loaded, Changing):
            self._loaded.watch(self._changes)


def lazily(names: Sequence[str], load: Load, hidden: frozenset[str] = frozenset()) -> list[Provider]:
    """One provider per name. `hidden` names tools (`web__search`) that are not offered."""
    known = _known()
    return [_family(name, known, load, hidden) for name in names]


def _family(name: str, known: Mapping[str, tuple[Tool, ...]], load: Load, hidden: frozenset[str]) -> Provider:
    if name in ALWAYS_LOADED or name not in known:
        return load(name)
    kind = LazyResources if name in RESOURCES else LazyFamily
    return kind(name, tuple(tool for tool in known[name] if f"{name}__{tool.name}" not in hidden), load)


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Written(Struct, omit_defaults=True):
    """A tool in the file: its definition, and what agents do not see."""

    wire: Raw
    alias: str = ""
    task: TaskSupport = "forbidden"
    needs: Capabilities = Capabilities()


class _View(Struct):
    name: str
    annotations: Annotations = Annotations()


_families = msgspec.json.Decoder(dict[str, list[_Written]])
_view = msgspec.json.Decoder(_View)


def _known() -> Mapping[str, tuple[Tool, ...]]:
    """The tools in the file. If it is missing, families are loaded to list their tools."""
    try:
        written = _families.decode(FILE.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return {name: tuple(map(_tool, tools)) for name, tools in written.items()}


def _tool(written: _Written) -> Tool:
    view = _view.decode(written.wire)
    return Tool(view.name, bytes(written.wire), view.annotations, written.alias, written.task, written.needs)


def made(providers: Sequence[Provider]) -> bytes:
    """The content of the file, from loaded families: one tool per line, spelled as agents get it."""
    families = [
        b'"%b":[\n%b]' % (provider.namespace.encode(), b",\n".join(map(_line, provider.list_tools())))
        for provider in providers
        if provider.namespace not in ALWAYS_LOADED
    ]
    return b"{\n%b}\n" % b",\n".join(families)


def _line(tool: Tool) -> bytes:
    return msgspec.json.encode(_Written(Raw(tool.wire), tool.alias, tool.task, tool.needs))


def everything() -> list[Provider]:
    """All families, loaded, with every tool they can offer."""
    from clawft.builtin import families  # that package imports users of this module, so not at the top
    from clawft.builtin.web import WebSettings
    from clawft.store.memory import MemoryStore

    store = MemoryStore()
    settings = {"web": WebSettings(search_url="https://search.example")}
    return families(Path.cwd(), lambda agent, name: store, settings=settings)


if __name__ == "__main__":
    FILE.write_bytes(made(everything()))
    sys.stdout.write(f"{FILE.name} is made anew\n")

"""The names for a command line: built in, or remembered from when a server listed them last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from clawft.app import App
from clawft.catalog.names import accepted, exported
from clawft.cli.completion.arguments import argument_words
from clawft.cli.parser import Options
from clawft.cli.prompts.schema import schema_of
from clawft.cli.setup import with_app
from clawft.errors import ToolNotFound
from clawft.model import Origin, PromptArgument, Tool
from clawft.upstream.offer.cache import RememberedOffer, SchemaCache, folder

Schema = Mapping[str, Any]
T = TypeVar("T")

EMPTY: Schema = {}


def asked(options: Options, ask: Callable[[KnownOffer], Iterable[str]]) -> Iterable[str]:
    """The words that the gateway of these options offers, which knows the tools, prompts and resources."""

    async def work(app: App) -> list[str]:
        return [*ask(KnownOffer(app))]

    return with_app(options, work, servers=False)


class _Named(Struct, rename="camel"):
    name: str
    input_schema: dict[str, Any] = {}
    arguments: tuple[PromptArgument, ...] = ()


class _Addressed(Struct):
    uri: str


class KnownOffer:
    def __init__(self, app: App) -> None:
        self._app = app

    def tools(self) -> Iterator[str]:
        yield from (entry.name for entry in self._app.gateway.tools.listed(self._app.caller))
        yield from (self._spelled(origin, each.name) for origin, each in self._remembered("tools"))

    def families(self) -> list[str]:
        """Of the tools that are built in or installed."""
        return list(dict.fromkeys(entry.origin.namespace for entry in self._app.gateway.tools.listed(self._app.caller)))

    def tools_of(self, server: str) -> list[str]:
        """As the server calls them."""
        return [each.name for origin, each in self._remembered("tools") if origin.server == server]

    def schema_of(self, tool: str) -> Schema:
        entry = self._app.gateway.tools.find_visible(tool, self._app.caller)
        if entry is not None:
            return msgspec.json.decode(entry.tool.input_schema, type=dict[str, Any])
        return next((each.input_schema for each in self._called("tools", tool)), EMPTY)

    def arguments_of_tool(self, tool: str, given: Sequence[str], begun: str) -> Iterator[str]:
        return argument_words(self.schema_of(tool), given, begun)

    def prompts(self) -> Iterator[str]:
        yield from (each.name for each in self._app.gateway.prompts.visible(self._app.caller))
        yield from (self._spelled(origin, each.name) for origin, each in self._remembered("prompts"))

    def arguments_of(self, prompt: str) -> Schema:
        try:
            return schema_of(self._app.gateway.prompts.find(self._app.caller, prompt).view.arguments)
        except ToolNotFound:
            return schema_of(next((each.arguments for each in self._called("prompts", prompt)), ()))

    def arguments_of_prompt(self, prompt: str, given: Sequence[str], begun: str) -> Iterator[str]:
        return argument_words(self.arguments_of(prompt), given, begun)

    def resources(self) -> Iterator[str]:
        yield from (each.uri for _, each in self._app.gateway.resources.owned(self._app.caller))
        for _, offer in self._offers:
            yield from (each.uri for each in _read(offer.resources, _Addressed))

    @cached_property
    def _offers(self) -> list[tuple[Origin, RememberedOffer]]:
        """Of servers that would be started: those of others are nobody's to use."""
        if not self._app.files.name_any:
            return []
        cache = SchemaCache(folder(self._app.settings.home))
        found = ((name, cache.get(spec)) for name, spec in self._app.servers.wanted.items())
        return [(Origin(name, name), offer) for name, offer in found if offer is not None]

    def _remembered(self, kind: str) -> Iterator[tuple[Origin, _Named]]:
        return ((origin, each) for origin, offer in self._offers for each in _read(getattr(offer, kind), _Named))

    def _called(self, kind: str, name: str) -> Iterator[_Named]:
        return (each for origin, each in self._remembered(kind) if name in accepted(origin, Tool(each.name, b"")))

    def _spelled(self, origin: Origin, name: str) -> str:
        return exported(origin, Tool(name, b""), self._app.settings.names)


def _read(items: Iterable[Raw], form: type[T]) -> Iterator[T]:
    for item in items:
        with suppress(msgspec.ValidationError):  # it is kept as it was said
            yield msgspec.json.decode(item, type=form)

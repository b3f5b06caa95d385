"""`@tool` makes a typed function a tool, `FunctionProvider` offers a set of them.

@tool(read_only=True)
async def greet(name: Annotated[str, "whom to greet"]) -> str:
    "Say hello."
    return f"Hello, {name}!"

provider = FunctionProvider("demo", [greet], workspace=Path.cwd(), store=MemoryStore())
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, overload

import msgspec
from msgspec import UNSET

from clawft.errors import InvalidConfig, ToolNotFound
from clawft.model import Annotations, Call, Caller, CallToolResult, Capabilities, Origin, Reply, Talk, Tool
from clawft.provider.base import Changes, arguments_of
from clawft.provider.context import ToolContext
from clawft.provider.definition import FunctionTool, TaskChoice, as_result, check_options, define
from clawft.provider.manifest import Manifest
from clawft.provider.result import Audio, Image
from clawft.provider.schema import behind
from clawft.store.base import KeyValueStore

__all__ = ["Audio", "FunctionProvider", "FunctionTool", "Image", "definition_of", "tool"]

AnyFunction = Callable[..., Any]
F = TypeVar("F", bound=AnyFunction)
_DEFINITION = "__weft_tool__"


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    name: str = "",
    title: str = "",
    alias: str = "",
    read_only: bool = False,
    destructive: bool = True,
    idempotent: bool = False,
    open_world: bool = True,
    task: TaskChoice = "forbidden",
    needs: Capabilities = ...,
    input_schema: Mapping[str, Any] | None = None,
) -> Callable[[F], F]: ...


def tool(  # noqa: PLR0913 - each one is a word of the tool's definition
    function: AnyFunction | None = None,
    /,
    *,
    name: str = "",
    title: str = "",
    alias: str = "",
    read_only: bool = False,
    destructive: bool = True,
    idempotent: bool = False,
    open_world: bool = True,
    task: TaskChoice = "forbidden",
    needs: Capabilities = Capabilities(),  # noqa: B008 - frozen, so sharing it is safe
    input_schema: Mapping[str, Any] | None = None,
) -> Any:
    """Make a function, a bound method or a partial a tool. It stays what it is and can still be called directly.

    The docstring is the description, the signature the schema; a parameter of type `ToolContext` is filled in by us.
    A plain function runs in a worker thread. With `input_schema` the schema is taken as given, and a sole parameter
    `arguments` gets everything as one dict.
    """

    hints = {"read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": open_world}
    check_options({"name": name, "title": title, "alias": alias, "needs": needs, **hints}, task, input_schema)

    def decorate(decorated: AnyFunction) -> AnyFunction:
        definition = define(
            decorated,
            name=name or behind(decorated).__name__,
            title=title,
            alias=alias,
            annotations=Annotations(
                title=title or UNSET,
                read_only_hint=read_only,
                destructive_hint=destructive and not read_only,
                idempotent_hint=idempotent,
                open_world_hint=open_world,
            ),
            task=task,
            needs=needs,
            input_schema=input_schema,
        )
        try:
            setattr(decorated, _DEFINITION, definition)
        except AttributeError:  # a bound method holds none
            decorated = partial(decorated)
            setattr(decorated, _DEFINITION, definition)
        return decorated

    return decorate if function is None else decorate(function)


def definition_of(function: AnyFunction) -> FunctionTool:
    """The tool that `@tool` made of a function."""
    definition = getattr(function, _DEFINITION, None)
    if not isinstance(definition, FunctionTool):
        raise TypeError(f"{function!r} is no tool; decorate it with @tool")
    return definition


def _same_for_all(store: KeyValueStore | Callable[[], KeyValueStore] | None) -> Callable[[str], KeyValueStore]:
    if store is None:
        raise TypeError("give either store (one for all) or stores (one per agent)")
    return lambda agent: store() if callable(store) else store


class FunctionProvider:
    """A provider of tools that are functions of this process.

    `store` is one store for every agent, or a function that opens it when a tool first asks; `stores` opens one for
    each agent.
    """

    def __init__(
        self,
        namespace: str,
        tools: Iterable[AnyFunction] = (),
        *,
        workspace: Path,
        store: KeyValueStore | Callable[[], KeyValueStore] | None = None,
        stores: Callable[[str], KeyValueStore] | None = None,
        manifest: Manifest | None = None,
    ) -> None:
        self.namespace = namespace
        self.workspace = workspace
        self.manifest = manifest
        self._open_store = stores or _same_for_all(store)
        self._stores: dict[str, KeyValueStore] = {}
        self._tools: dict[str, FunctionTool] = {}
        self._listed: tuple[Tool, ...] = ()
        self._changes: Changes | None = None
        for function in tools:
            self.add(function)

    def list_tools(self) -> Sequence[Tool]:
        return self._listed

    def run(self, call: Call) -> Coroutine[Any, Any, Reply]:
        found = self._tools.get(call.tool.name)
        if found is None:
            raise ToolNotFound(f"unknown tool: {call.tool.name}")
        context = self._context(call, found) if found.wants_context else None
        return found.run(call.arguments, context, call.asked)

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool by its native name or alias, as the anonymous caller."""
        found = self._find(name)
        origin = Origin(self.namespace)
        call = Call(Caller(), f"{self.namespace}__{found.name}", found.tool, origin, arguments_of(arguments))
        return as_result(await self.run(call))

    def add(self, function: AnyFunction, *, listed: bool = True) -> None:
        """Offer one more tool. An unlisted one can be called through the provider, to say why it is not listed.

        Raises InvalidConfig if another tool has its name.
        """
        definition = definition_of(function)
        if self._tools.get(definition.name, definition) is not definition:
            taken = f"{self.namespace}: there is already a tool {definition.name!r}"
            raise InvalidConfig(taken, hint="give one of them another name: @tool(name=…)")
        self._tools[definition.name] = definition
        if listed:
            self._list([*(each for each in self._listed if each.name != definition.name), definition.tool])

    def remove(self, name: str) -> None:
        if self._tools.pop(name, None) is None:
            raise ToolNotFound(f"unknown tool: {name}")
        self._list([each for each in self._listed if each.name != name])

    def watch(self, changes: Changes) -> None:
        self._changes = changes

    def _list(self, tools: Iterable[Tool]) -> None:
        self._listed = tuple(tools)
        if self._changes is not None:
            self._changes.tools_changed()

    def _find(self, name: str) -> FunctionTool:
        for definition in self._tools.values():
            if name in (definition.name, definition.tool.alias):
                return definition
        raise ToolNotFound(f"unknown tool: {name}")

    def _context(self, call: Call, found: FunctionTool) -> ToolContext:
        if found.in_thread:
            from clawft.provider.thread import FromThread  # loaded with the first such tool

            talk: Talk = FromThread(call.talk, asyncio.get_running_loop())
            call = msgspec.structs.replace(call, talk=talk)
        return ToolContext(call, self.workspace, self._store_of(call.caller.agent))

    def _store_of(self, agent: str) -> KeyValueStore:
        store = self._stores.get(agent)
        if store is None:
            store = self._stores[agent] = self._open_store(agent)
        return store

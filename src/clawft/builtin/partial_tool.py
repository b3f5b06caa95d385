"""Tools whose first parameter (a `Git`, an `Ide`) is filled in by us, and whose typed result also has a short text."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypedDict, Unpack

import msgspec
from msgspec import Raw, Struct

from clawft.model import Reply
from clawft.provider.context import ToolContext
from clawft.provider.function import definition_of, tool
from clawft.provider.schema import schema_of

_encode = msgspec.json.encode
_members = msgspec.json.Decoder(dict[str, Raw])


class ResultWithText(Protocol):
    """A result with a short text for those who do not read its structured form."""

    def text(self) -> str: ...


class ToolWords(TypedDict, total=False):
    """The keyword arguments of `@tool`."""

    name: str
    alias: str
    title: str
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


class PartialTool(Struct, frozen=True):
    """A tool function whose first parameter, a `Git` or an `Ide`, is still to be filled in by `tool`."""

    function: Callable[..., Awaitable[ResultWithText]]
    words: ToolWords

    @property
    def name(self) -> str:
        return self.words.get("name") or self.function.__name__

    def tool(self, first: Callable[[str, ToolContext], Any]) -> Callable[..., Any]:
        """The function as a tool; `first` makes its first parameter from the tool's name. Callers see the others."""
        function, name = self.function, self.name

        async def run(ctx: ToolContext, *values: Any) -> Reply:
            return reply(await function(first(name, ctx), *values))

        run.__name__, run.__doc__ = name, function.__doc__
        signature = inspect.signature(function)
        _describe(run, signature)
        tool(**self.words)(run)
        _promise(run, schema_of(signature.return_annotation))
        return run


def partial_tool(**words: Unpack[ToolWords]) -> Callable[[Callable[..., Awaitable[ResultWithText]]], PartialTool]:
    """Decorate `async def status(git: Git, repo_path: str, …) -> StatusResult`, to be made a tool by its family."""
    return lambda function: PartialTool(function, words)


def reply(result: ResultWithText) -> Reply:
    """A reply with the structured result and its short text."""
    content = b'{"content":[{"type":"text","text":' + _encode(result.text()) + b'}],"structuredContent":'
    return Reply(content + _encode(result) + b"}")


def _describe(run: Callable[..., Any], signature: inspect.Signature) -> None:
    """Give `run` the parameters of the function behind it, with the context in place of the first."""
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=ToolContext)
    parameters = [context, *list(signature.parameters.values())[1:]]
    described: Any = run
    described.__signature__ = inspect.Signature(parameters, return_annotation=Reply)
    described.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": Reply}


def _promise(run: Callable[..., Any], schema: dict[str, Any]) -> None:
    """Add the output schema: `@tool` cannot derive it, as it sees a function that returns a whole reply."""
    definition = definition_of(run)
    wire = _encode({**_members.decode(definition.tool.wire), "outputSchema": schema})
    definition.tool = msgspec.structs.replace(definition.tool, wire=wire)

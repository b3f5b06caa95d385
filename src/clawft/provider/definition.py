"""Turns a function into a tool once, so that each call only decodes, runs and encodes."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, Literal, cast, get_args

import msgspec
from msgspec import Raw

from clawft.errors import ClawftError, ExecutionFailed, RequestRefused, ToolError
from clawft.model import Annotations, CallToolResult, Capabilities, Reply, Tool, ToolDefinition
from clawft.provider.context import ToolContext
from clawft.provider.result import ResultShape, read_output
from clawft.provider.schema import Signature, behind, from_json, read_signature, with_whole_numbers
from clawft.wire.meta import NEEDS, write_needs

TaskChoice = Literal["forbidden", "optional", "required"]
Run = Callable[[bytes, ToolContext | None, str], Coroutine[Any, Any, Reply]]

_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    **dict.fromkeys(("name", "title", "alias"), (str, "a text")),
    **dict.fromkeys(("read_only", "destructive", "idempotent", "open_world"), (bool, "True or False")),
    "needs": (Capabilities, "a Capabilities"),
}
"""The types of `@tool` options: a wrong value in a list would make strict clients drop all tools."""

_log = logging.getLogger("clawft.tool")
_encode = msgspec.json.encode


class FunctionTool:
    """A tool and the way to run it. `run` takes arguments as bytes, `execute` as a mapping.

    The third argument of `run` is the tool's name as the caller has it, for errors about arguments; empty: its own
    name.
    """

    __slots__ = ("in_thread", "run", "tool", "wants_context")

    def __init__(self, tool: Tool, run: Run, *, wants_context: bool, in_thread: bool) -> None:
        self.tool = tool
        self.run = run
        self.wants_context = wants_context
        self.in_thread = in_thread

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def input_schema(self) -> dict[str, Any]:
        return msgspec.json.decode(self.tool.input_schema)

    async def execute(self, params: Mapping[str, Any], ctx: ToolContext) -> CallToolResult:
        return as_result(await self.run(_encode(params), ctx, ""))


def as_result(reply: Reply) -> CallToolResult:
    return msgspec.json.decode(reply.result, type=CallToolResult)


def check_options(told: Mapping[str, Any], task: object, input_schema: object) -> None:
    """Raises TypeError, naming the wrong option and what it takes."""
    for option, value in told.items():
        kind, words = _KINDS[option]
        if not isinstance(value, kind):
            raise TypeError(f"@tool({option}=…) is {words}, not {value!r}")
    if task not in get_args(TaskChoice):
        raise TypeError(f"@tool(task=…) is one of {', '.join(get_args(TaskChoice))}, not {task!r}")
    if input_schema is not None and not _is_of_object(input_schema):
        raise TypeError("@tool(input_schema=…) is the JSON Schema of an object: {'type': 'object', 'properties': {…}}")


def _is_of_object(schema: object) -> bool:
    return isinstance(schema, Mapping) and cast("Mapping[str, Any]", schema).get("type", "object") == "object"


def define(
    function: Callable[..., Any],
    *,
    name: str,
    title: str,
    alias: str,
    annotations: Annotations,
    task: TaskChoice,
    needs: Capabilities,
    input_schema: Mapping[str, Any] | None,
) -> FunctionTool:
    """Examine the function. A TypeError says why it cannot be a tool."""
    signature = read_signature(function, name, input_schema)
    _refuse_yielding(behind(function), name)
    output = read_output(signature.returns, name)
    described = ToolDefinition(
        title,
        inspect.cleandoc(behind(function).__doc__ or ""),
        Raw(_encode(signature.schema)),
        Raw(_encode(output.schema) if output.schema else b""),
    )
    return FunctionTool(
        Tool(name, _wire(name, described, annotations, needs), annotations, alias, task, needs),
        _runner(function, name, signature, output),
        wants_context=signature.context_at >= 0,
        in_thread=not inspect.iscoroutinefunction(behind(function)),
    )


def _refuse_yielding(function: Callable[..., Any], name: str) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"tool {name}: it yields, but a call has one result; return a list, and report progress with ctx.progress"
        )


def _wire(name: str, said: ToolDefinition, annotations: Annotations, needs: Capabilities) -> bytes:
    """The encoded definition, as it is listed."""
    members: dict[str, Any] = {"name": name}
    if said.title:
        members["title"] = said.title
    if said.description:
        members["description"] = said.description
    members["inputSchema"] = said.input_schema
    if said.output_schema:
        members["outputSchema"] = said.output_schema
    if annotations != Annotations():
        members["annotations"] = annotations
    if needs != Capabilities():
        members["_meta"] = {NEEDS: write_needs(needs)}
    return _encode(members)


def _runner(function: Callable[..., Any], name: str, signature: Signature, output: ResultShape) -> Run:
    decode = _decoder(signature)
    invoke = _invoker(function, signature.keywords)
    render = output.render
    at = signature.context_at

    async def run(arguments: bytes, context: ToolContext | None, asked: str) -> Reply:
        try:
            values = decode(arguments)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            values = _second_reading(decode, asked or name, arguments, signature.schema, problem)
        if at >= 0:
            values = (*values[:at], context, *values[at:])
        try:
            return render(await invoke(*values))
        except (ToolError, RequestRefused):
            raise
        except BaseException as failure:
            from clawft.provider.failure import is_failure  # most tools never fail

            if not is_failure(failure):
                raise
            raise _failed(name, failure) from failure

    return run


def _second_reading(
    decode: Callable[[bytes], tuple[Any, ...]], name: str, arguments: bytes, schema: dict[str, Any], problem: Exception
) -> tuple[Any, ...]:
    """Decode again with numbers like `5.0` as integers, as the schema allows. Raises the error for the caller."""
    try:
        return decode(with_whole_numbers(arguments, schema))
    except (msgspec.DecodeError, UnicodeDecodeError):
        from clawft.provider.explain import wrong_arguments  # only to complain

        raise wrong_arguments(name, arguments, schema, problem) from None


def _decoder(signature: Signature) -> Callable[[bytes], tuple[Any, ...]]:
    decode = msgspec.json.Decoder(signature.arguments, dec_hook=from_json).decode
    if signature.whole:
        return lambda arguments: (decode(arguments),)
    values = msgspec.structs.astuple
    if "$defs" not in signature.schema:
        return lambda arguments: values(decode(arguments))
    from clawft.provider.defaults import fill, leaves_defaults  # most tools take no dataclass

    if not leaves_defaults(signature.arguments):
        return lambda arguments: values(decode(arguments))

    def decode_and_fill(arguments: bytes) -> tuple[Any, ...]:
        decoded = decode(arguments)
        fill(decoded)
        return values(decoded)

    return decode_and_fill


def _invoker(function: Callable[..., Any], keywords: tuple[str, ...]) -> Callable[..., Awaitable[Any]]:
    """Awaits the function with all values by position; one that blocks runs in a worker thread."""
    call = function
    if keywords:

        def by_keyword(*values: Any) -> Any:
            last = len(values) - len(keywords)
            return function(*values[:last], **dict(zip(keywords, values[last:], strict=True)))

        call = by_keyword
    if inspect.iscoroutinefunction(behind(function)):
        return call

    def in_this_thread(*values: Any) -> Any:
        try:
            return call(*values)
        except StopIteration as ended:  # a StopIteration of a tool: the event loop would take it for its own
            raise RuntimeError("raised StopIteration") from ended

    async def in_thread(*values: Any) -> Any:
        try:
            result = await asyncio.to_thread(in_this_thread, *values)
        finally:
            await asyncio.sleep(0)  # what it told the loop comes first, even if it was done at once (Python 3.14)
        return await result if inspect.iscoroutine(result) else result  # of what a plain decorator has wrapped

    return in_thread


def _failed(name: str, failure: BaseException) -> ExecutionFailed:
    """The error the caller gets. The traceback goes to the log only."""
    if isinstance(failure, ClawftError):
        return ExecutionFailed(f"{name}: {failure.message}", hint=failure.hint)
    from clawft.provider.failure import failure_text  # loaded a moment ago

    _log.error("tool %s failed", name, exc_info=failure)
    return ExecutionFailed(f"{name}: {failure_text(failure)}")

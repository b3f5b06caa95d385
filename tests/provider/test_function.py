"""`@tool` and FunctionProvider: what goes in, what comes out, what goes wrong."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Any, TypedDict, cast

import jsonschema
import msgspec
import pytest
from msgspec import Struct

from clawft import Gateway
from clawft.errors import (
    ExecutionFailed,
    InvalidArguments,
    InvalidConfig,
    MissingCapability,
    PermissionDenied,
    ToolNotFound,
)
from clawft.model import Call, Caller, CallToolResult, LogLevel, Origin, Question, Reply, RunEnded, SilentTalk
from clawft.provider.base import Changing, Provider, RawProvider
from clawft.provider.context import ToolContext
from clawft.provider.function import Audio, FunctionProvider, Image, definition_of, tool
from clawft.store.memory import MemoryStore
from tests.requirements import requirement

Offer = Callable[..., FunctionProvider]


class Point(Struct):
    x: int
    y: int


@dataclass
class Size:
    width: int


class Named(TypedDict):
    name: str


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Paint:
    name: str
    colour: Colour = Colour.RED


@dataclass
class Palette:
    paints: list[Paint]
    best: Paint | None = None
    by_name: dict[str, Paint] = field(default_factory=dict[str, Paint])


@tool(alias="say", title="Echo", read_only=True, idempotent=True, open_world=False)
async def echo(text: str) -> str:
    """Say it back."""
    return text


@tool
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


def call_of(provider: FunctionProvider, name: str, arguments: bytes = b"{}", **more: Any) -> Call:
    found = next(each for each in provider.list_tools() if each.name == name)
    return Call(more.pop("caller", Caller()), f"demo__{name}", found, Origin("demo"), arguments, **more)


def text_of(result: CallToolResult) -> str:
    return result.content[0]["text"]


# ── a provider ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("PROV-01", "PROV-03", "T-7.1", "T-7.2", "AC-13")
def test_it_is_a_provider_and_lists_every_tool(offer: Offer) -> None:
    provider = offer(echo, add)
    assert isinstance(provider, Provider)
    assert isinstance(provider, RawProvider)
    assert isinstance(provider, Changing)
    assert provider.namespace == "demo"
    assert [each.name for each in provider.list_tools()] == ["echo", "add"]


@requirement("PROV-03", "T-7.3")
async def test_a_call_gives_what_the_function_gives(offer: Offer) -> None:
    provider = offer(echo, add)
    assert text_of(await provider.call_tool("echo", {"text": "hi"})) == await echo("hi")
    assert (await provider.call_tool("add", {"a": 2})).structured_content == {"result": add(2)}
    reply = await provider.run(call_of(provider, "echo", b'{"text":"hi"}'))
    assert msgspec.json.decode(reply.result) == {"content": [{"type": "text", "text": "hi"}]}


@requirement("PROV-02", "T-7.4", "F8-T08")
async def test_an_unknown_tool_is_not_found(offer: Offer) -> None:
    provider = offer(echo)
    with pytest.raises(ToolNotFound, match="unknown tool: nope"):
        await provider.call_tool("nope", {})
    gone = call_of(provider, "echo")
    provider.remove("echo")
    with pytest.raises(ToolNotFound, match="unknown tool: echo"):
        await provider.run(gone)


@requirement("PROV-12")
async def test_the_alias_is_accepted(offer: Offer) -> None:
    assert text_of(await offer(echo).call_tool("say", {"text": "hi"})) == "hi"


@requirement("WIRE-17", "PROV-21")
def test_the_definition_says_what_was_declared() -> None:
    listed = msgspec.json.decode(definition_of(echo).tool.wire)
    assert listed == {
        "name": "echo",
        "title": "Echo",
        "description": "Say it back.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "annotations": {
            "title": "Echo",
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
    assert "annotations" not in msgspec.json.decode(definition_of(add).tool.wire)


async def test_adding_and_removing_is_announced(offer: Offer) -> None:
    provider = offer(echo)
    told: list[list[str]] = []

    class Watcher:
        def tools_changed(self, whose: str = "") -> None:
            told.append([each.name for each in provider.list_tools()])

        def prompts_changed(self, whose: str = "") -> None: ...
        def resources_changed(self, whose: str = "") -> None: ...
        def resource_updated(self, uri: str) -> None: ...

        def elicitation_completed(self, id: str) -> None: ...
        def log(self, level: str, params: bytes, principal: str) -> None: ...

    provider.watch(Watcher())
    provider.add(add)
    provider.add(echo)
    provider.remove("add")
    assert told == [["echo", "add"], ["add", "echo"], ["echo"]]
    with pytest.raises(ToolNotFound):
        provider.remove("add")


def test_an_undecorated_function_is_refused(offer: Offer) -> None:
    with pytest.raises(TypeError, match="is no tool; decorate it with @tool"):
        offer(lambda: None)


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (b"{}", "add: missing 'a' (usage: add(a: integer, b: integer = 1))"),
        (b'{"a":"1"}', "'a' must be int, got str"),
        (b'{"a":1,"bb":2}', "unknown argument 'bb', did you mean 'b'?"),
        (b'{"q":1}', "missing 'a'; unknown argument 'q'"),
        (b"[]", "the arguments must be object, got array"),
        (b'{"a":1', "the arguments are not valid JSON"),
        (b'{"a":\xff}', "the arguments are not valid JSON"),
    ],
)
@requirement("SHELL-08", "GIT-10")
async def test_wrong_arguments_are_told_so_that_a_model_can_act(offer: Offer, arguments: bytes, said: str) -> None:
    provider = offer(add)
    with pytest.raises(InvalidArguments) as told:
        await provider.run(call_of(provider, "add", arguments))
    assert said in str(told.value)


@requirement("GIT-10")
async def test_wrong_arguments_are_told_under_the_name_that_was_called(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWFT_HOME", str(tmp_path / "home"))
    async with Gateway(builtin=True, workspace=workspace) as gateway:
        for name in ("file__read", "read_file", "mcp__file__read"):
            told = (await gateway.call_tool(name)).content[0]["text"]
            assert told.startswith(f"{name}: missing 'path' (usage: {name}(path: string")


@requirement("FILE-01")
async def test_a_whole_number_may_have_a_point(offer: Offer) -> None:
    """To JSON Schema 5.0 is an integer, and clients that know one kind of number only send it."""

    @tool
    async def show(count: int, ratio: float = 0.5, limit: int | None = None) -> dict[str, Any]:
        return {"count": count, "ratio": ratio, "limit": limit}

    provider = offer(show)
    told = await provider.call_tool("show", {"count": 5.0, "ratio": 2.0, "limit": -3.0})
    assert told.structured_content == {"count": 5, "ratio": 2.0, "limit": -3}
    for wrong in ({"count": 5.5}, {"count": "5"}, {"count": True}, {"count": 5.0, "more": 1}):
        with pytest.raises(InvalidArguments):
            await provider.call_tool("show", wrong)


async def test_a_wrong_inner_value_is_named_by_its_place(offer: Offer) -> None:
    @tool
    async def draw(points: list[Point]) -> str:
        return str(len(points))

    provider = offer(draw)
    with pytest.raises(InvalidArguments, match=r"'points\[1\].y' must be int, got str"):
        await provider.call_tool("draw", {"points": [{"x": 1, "y": 2}, {"x": 1, "y": "2"}]})
    with pytest.raises(InvalidArguments, match=r"missing 'points\[0\]\.y'"):
        await provider.call_tool("draw", {"points": [{"x": 1}]})


@requirement("PLUG-08")
async def test_the_context_goes_where_the_function_wants_it(offer: Offer, workspace: Path) -> None:
    @tool
    async def where(first: str, ctx: ToolContext, second: str = "2", *, third: str = "3") -> str:
        await ctx.store.set("seen", first)
        return f"{first}{second}{third} {ctx.agent} {ctx.workspace} {ctx.caller.principal}"

    provider = offer(where)
    call = call_of(provider, "where", b'{"first":"1","third":"c"}', caller=Caller(principal="ann", agent="coder"))
    reply = await provider.run(call)
    assert f"12c coder {workspace} ann" in reply.result.decode()
    assert set(msgspec.json.decode(provider.list_tools()[0].input_schema)["properties"]) == {"first", "second", "third"}


@requirement("PLUG-08")
async def test_a_tool_can_be_executed_by_itself(workspace: Path) -> None:
    @tool
    async def who(greeting: str, ctx: ToolContext) -> str:
        """Greets."""
        return f"{greeting} {ctx.agent}"

    definition = definition_of(who)
    call = Call(Caller(agent="coder"), "x", definition.tool, Origin("x"))
    result = await definition.execute({"greeting": "hi"}, ToolContext(call, workspace, MemoryStore()))
    assert (text_of(result), definition.name, definition.description) == ("hi coder", "who", "Greets.")


@requirement("MEM-01")
async def test_each_agent_has_its_own_store(workspace: Path) -> None:
    @tool
    async def bump(ctx: ToolContext) -> str:
        count = int(await ctx.store.get("n") or 0) + 1
        await ctx.store.set("n", str(count))
        return str(count)

    opened: list[str] = []

    def stores(agent: str) -> MemoryStore:
        opened.append(agent)
        return MemoryStore()

    provider = FunctionProvider("demo", [bump], workspace=workspace, stores=stores)
    for agent, count in (("a", b'"1"'), ("b", b'"1"'), ("a", b'"2"')):
        assert count in (await provider.run(call_of(provider, "bump", caller=Caller(agent=agent)))).result
    assert opened == ["a", "b"]


async def test_with_a_ready_schema_arguments_come_whole_or_by_name(offer: Offer) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}, "b": {}}}

    @tool(input_schema=schema)
    async def whole(arguments: dict[str, Any]) -> str:
        return msgspec.json.encode(arguments).decode()

    @tool(input_schema=schema)
    async def named(a: int = 0) -> str:
        return str(a)

    provider = offer(whole, named)
    assert text_of(await provider.call_tool("whole", {"b": 1, "z": [2]})) == '{"b":1,"z":[2]}'
    assert text_of(await provider.call_tool("named", {"a": 5, "b": 1})) == "5"


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@tool
async def as_point() -> Point:
    return Point(1, 2)


@tool
async def as_size() -> Size:
    return Size(3)


@tool
async def as_named() -> Named:
    return {"name": "n"}


@tool
async def as_list() -> list[Point]:
    return [Point(1, 2)]


@tool
async def as_maybe() -> str | None:
    return None


@pytest.mark.parametrize(
    ("function", "structured"),
    [
        (as_point, {"x": 1, "y": 2}),
        (as_size, {"width": 3}),
        (as_named, {"name": "n"}),
        (as_list, {"result": [{"x": 1, "y": 2}]}),
        (as_maybe, {"result": None}),
    ],
)
@requirement("PROV-21", "WIRE-19")
async def test_typed_results_are_structured_and_fit_their_schema(
    offer: Offer, function: Callable[..., Any], structured: Any
) -> None:
    provider = offer(function)
    listed = provider.list_tools()[0]
    result = await provider.call_tool(listed.name, {})
    assert result.structured_content == structured
    assert msgspec.json.decode(text_of(result)) == structured
    schema = msgspec.json.decode(listed.output_schema)
    assert schema["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(structured, schema, jsonschema.Draft202012Validator)
    assert msgspec.json.decode(listed.wire)["outputSchema"] == schema


async def test_content_goes_out_as_blocks(offer: Offer) -> None:
    @tool
    async def pictures() -> list[Image | Audio | str]:
        return [Image(b"\x89P"), "between", Audio(b"RI", "audio/mpeg")]

    @tool
    async def block() -> list[dict[str, Any]]:
        return [{"type": "resource_link", "uri": "a:b", "name": "b"}]

    @tool
    async def one() -> Image:
        return Image(b"x", "image/gif")

    provider = offer(pictures, block, one)
    assert (await provider.call_tool("pictures", {})).content == [
        {"type": "image", "data": "iVA=", "mimeType": "image/png"},
        {"type": "text", "text": "between"},
        {"type": "audio", "data": "Ukk=", "mimeType": "audio/mpeg"},
    ]
    assert (await provider.call_tool("block", {})).content == [{"type": "resource_link", "uri": "a:b", "name": "b"}]
    assert (await provider.call_tool("one", {})).content[0]["mimeType"] == "image/gif"
    assert all(not each.output_schema for each in provider.list_tools())


async def test_open_results_are_told_by_their_value(offer: Offer) -> None:
    values: list[Any] = [
        None,
        "text",
        CallToolResult.error("no"),
        Reply.text("raw"),
        {"a": 1},
        [{"a": 1}],
        ["a", "b"],
        [],
        5,
    ]

    @tool
    async def give(at: int) -> Any:
        return values[at]

    provider = offer(give)
    replies = [await provider.run(call_of(provider, "give", b'{"at":%d}' % at)) for at in range(len(values))]
    told = [msgspec.json.decode(reply.result) for reply in replies]
    assert told[0] == {"content": []}
    assert told[1] == {"content": [{"type": "text", "text": "text"}]}
    assert (told[2]["isError"], replies[2].is_error) == (True, True)
    assert replies[3] is values[3]
    assert [each["structuredContent"] for each in told[4:]] == [
        {"a": 1},
        {"result": [{"a": 1}]},
        {"result": ["a", "b"]},
        {"result": []},
        {"result": 5},
    ]


async def test_nothing_is_empty_content(offer: Offer) -> None:
    @tool
    def quiet() -> None:
        pass

    assert (await offer(quiet).call_tool("quiet", {})).content == []


# ── failures, threads, cancelling ────────────────────────────────────────────────────────────────────────────────────


@requirement("PROV-02", "SHELL-08")
async def test_a_crash_is_told_without_its_traceback(offer: Offer, caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def crash() -> str:
        raise ZeroDivisionError("by nought")

    with caplog.at_level(logging.ERROR, "clawft.tool"), pytest.raises(ExecutionFailed) as told:
        await offer(crash).call_tool("crash", {})
    assert str(told.value) == "crash: ZeroDivisionError: by nought"
    assert "Traceback" in caplog.text


@requirement("PROV-02", "SHELL-08")
async def test_a_function_that_exits_ends_its_call_only(offer: Offer) -> None:
    """As those do that were written for a command line."""

    @tool
    def parse() -> str:
        sys.exit(2)

    @tool
    async def leave() -> str:
        sys.exit("no such file")

    provider = offer(parse, leave)
    with pytest.raises(ExecutionFailed, match="parse: SystemExit: 2"):
        await provider.call_tool("parse", {})
    with pytest.raises(ExecutionFailed, match="leave: SystemExit: no such file"):
        await provider.call_tool("leave", {})


@requirement("PROV-02")
@pytest.mark.parametrize("error", [PermissionDenied("x", "y"), MissingCapability("no", required={"sampling": {}})])
async def test_errors_of_ours_pass(offer: Offer, error: Exception) -> None:
    @tool
    async def refuse() -> str:
        raise error

    with pytest.raises(type(error)) as told:
        await offer(refuse).call_tool("refuse", {})
    assert told.value is error


async def test_a_result_that_has_no_json_form_is_a_failure(offer: Offer) -> None:
    @tool
    async def odd() -> Any:
        return object()

    with pytest.raises(ExecutionFailed, match="odd: TypeError"):
        await offer(odd).call_tool("odd", {})


@requirement("GIT-11")
async def test_a_plain_function_leaves_the_loop_free(offer: Offer) -> None:
    let_go = threading.Event()

    @tool
    def block() -> str:
        let_go.wait(10)
        return threading.current_thread().name

    call = asyncio.ensure_future(offer(block).call_tool("block", {}))
    await asyncio.sleep(0)
    assert not call.done()
    let_go.set()
    assert text_of(await call) != threading.main_thread().name


async def test_progress_from_a_thread_arrives_on_the_loop(offer: Offer) -> None:
    seen: list[tuple[float, str]] = []

    class Talk(SilentTalk):
        def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
            seen.append((progress, threading.current_thread().name))

        def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
            seen.append((-1, threading.current_thread().name))

    @tool
    def work(ctx: ToolContext) -> str:
        ctx.progress(1)
        ctx.log("info", "x")
        return ""

    provider = offer(work)
    await provider.run(call_of(provider, "work", talk=Talk()))
    assert seen == [(1, threading.main_thread().name), (-1, threading.main_thread().name)]


@pytest.mark.parametrize("blocking", [True, False])
async def test_what_ends_a_run_on_purpose_is_no_failure(offer: Offer, blocking: bool) -> None:
    class Ended(RunEnded):
        pass

    class Talk(SilentTalk):
        def detach(self) -> None:
            raise Ended

    @tool(name="leave")
    def leave_thread(ctx: ToolContext) -> str:
        ctx.detach()
        return "went on"

    @tool(name="leave")
    async def leave_loop(ctx: ToolContext) -> str:
        ctx.detach()
        return "went on"

    provider = offer(leave_thread if blocking else leave_loop)
    with pytest.raises(Ended):
        await provider.run(call_of(provider, "leave", talk=Talk()))


async def test_cancelling_is_not_failing(offer: Offer) -> None:
    started = asyncio.Event()

    @tool
    async def hang() -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    call = asyncio.ensure_future(offer(hang).call_tool("hang", {}))
    await asyncio.wait_for(started.wait(), 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


# ── promises ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def returning(hint: Any, value: Any) -> Any:
    def gives() -> Any:
        """Give it."""
        return value

    gives.__annotations__["return"] = hint
    return tool(gives)


@requirement("PROV-21")
@pytest.mark.parametrize(
    ("hint", "value", "told"),
    [
        (str, 5, "gives: it says that it returns text, and returned int"),
        (str, {"a": 1}, "gives: it says that it returns text, and returned dict"),
        (str, b"hi", "gives: it says that it returns text, and returned bytes"),
        (None, "text", "gives: it says that it returns nothing, and returned str"),
        (int, "abc", "gives: it says that it returns int, and returned str"),
        (int, None, "gives: it says that it returns int, and returned NoneType"),
        (int, True, "gives: it says that it returns int, and returned bool"),
        (bool, 1, "gives: it says that it returns bool, and returned int"),
        (float, float("nan"), "returned nan: JSON has no such number"),
        (dict[str, int], None, "returned NoneType: Expected object, got null"),
        (dict[str, int], {"a": "b"}, "returned dict: Expected int, got str - at $[...]"),
        (
            Point,
            {"x": "zz", "y": 1},
            "returns Point, and returned dict: Expected int, got str - at $.x",
        ),
        (Point, Point("zz", 1), "returned Point: Expected int, got str - at $.x"),  # pyright: ignore[reportArgumentType]
        (str | None, 7, "returned int: Expected str | null, got int"),
        (int | str, 1.5, "returned 1.5: Expected int | str, got float"),
    ],
)
async def test_what_breaks_its_promise_is_told_and_not_sent(offer: Offer, hint: Any, value: Any, told: str) -> None:
    with pytest.raises(ExecutionFailed) as failed:
        await offer(returning(hint, value)).call_tool("gives", {})
    assert told in str(failed.value)


@requirement("PROV-21")
@pytest.mark.parametrize(
    ("hint", "value", "sent"),
    [
        (float, 5, {"result": 5}),
        (int, 2**80, {"result": 2**80}),
        (Point, {"x": 1, "y": 2}, {"x": 1, "y": 2}),
        (dict[int, str], {1: "a"}, {"1": "a"}),
        (set[int], {1}, {"result": [1]}),
        (str | None, None, {"result": None}),
    ],
)
async def test_what_keeps_its_promise_in_another_form_is_sent(offer: Offer, hint: Any, value: Any, sent: Any) -> None:
    assert (await offer(returning(hint, value)).call_tool("gives", {})).structured_content == sent


async def test_no_text_is_no_content(offer: Offer) -> None:
    assert (await offer(returning(str, None)).call_tool("gives", {})).content == []


@requirement("PROV-06")
def test_a_second_tool_of_one_name_is_refused(offer: Offer) -> None:
    @tool(name="echo")
    async def other() -> str:
        return ""

    with pytest.raises(InvalidConfig, match="demo: there is already a tool 'echo'"):
        offer(echo, other)
    assert [each.name for each in offer(echo, echo).list_tools()] == ["echo"]


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """As retries and timers are written: a plain function around whatever it is given."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return call


@tool
@wrapped
async def tripled(number: int) -> int:
    """Three times as much."""
    await asyncio.sleep(0)
    return 3 * number


@requirement("PROV-21")
async def test_a_coroutine_behind_a_plain_decorator_is_awaited() -> None:
    async with Gateway(tripled) as gateway:
        result = await gateway.call_tool("tripled", number=2)
        wrong = await gateway.call_tool("tripled", number="x")
    assert result.structured_content == {"result": 6}
    assert wrong.is_error


@requirement("PROV-21")
async def test_a_level_that_there_is_not_is_told_whoever_listens() -> None:
    @tool
    async def says(ctx: ToolContext) -> None:
        """Say it."""
        ctx.log(cast("LogLevel", "warn"), "x")

    async with Gateway(says) as gateway:
        wrong = await gateway.call_tool("says")
    assert "there is no log level 'warn'; one of debug, info, notice, warning," in wrong.content[0]["text"]


@requirement("PROV-21")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"read_only": "yes"}, r"@tool\(read_only=…\) is True or False, not 'yes'"),
        ({"title": 3}, r"@tool\(title=…\) is a text, not 3"),
        ({"task": "maybe"}, r"@tool\(task=…\) is one of forbidden, optional, required, not 'maybe'"),
        ({"needs": "roots"}, r"@tool\(needs=…\) is a Capabilities, not 'roots'"),
        ({"input_schema": {"type": "string"}}, r"@tool\(input_schema=…\) is the JSON Schema of an object"),
        ({"input_schema": []}, r"@tool\(input_schema=…\) is the JSON Schema of an object"),
    ],
)
def test_options_that_would_be_listed_as_no_client_reads_them_are_refused(options: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        tool(**options)


@requirement("PROV-21")
def test_a_schema_of_ones_own_has_its_type() -> None:
    @tool(input_schema={"properties": {"x": {}}})
    def own(arguments: dict[str, Any]) -> None: ...

    assert definition_of(own).input_schema == {"type": "object", "properties": {"x": {}}}


class Hearing(SilentTalk):
    """Keeps the progress it is told, and the forms it is asked to have filled in."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, float | None]] = []
        self.forms: list[Any] = []

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        self.heard.append((progress, total))

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        self.forms += [each.params["requestedSchema"] for each in questions.values()]
        return {key: {"action": "accept", "content": {}} for key in questions}


async def test_progress_that_is_no_number_is_left_out(offer: Offer) -> None:
    @tool
    async def work(ctx: ToolContext) -> None:
        for each in (1.0, float("nan"), float("inf"), 2.0):
            ctx.progress(each, float("nan"))

    provider, talk = offer(work), Hearing()
    await provider.run(call_of(provider, "work", talk=talk))
    assert talk.heard == [(1.0, None), (2.0, None)]


@pytest.mark.parametrize(
    ("form", "asked"),
    [
        ({}, {"type": "object", "properties": {}}),
        (
            {"properties": {"n": {"type": "string", "format": "phone"}}},
            {"type": "object", "properties": {"n": {"type": "string"}}},
        ),
        ({"properties": {"n": {"type": "object"}}}, None),
        ({"properties": {"n": {}}}, None),
    ],
)
async def test_a_form_that_a_strict_client_would_refuse_is_told_to_the_tool(
    offer: Offer, form: Any, asked: Any
) -> None:
    @tool
    async def work(ctx: ToolContext) -> None:
        await ctx.elicit("name", "Your name?", form)

    provider, talk = offer(work), Hearing()
    if asked is None:
        with pytest.raises(ExecutionFailed, match="the form of the question 'name' cannot be filled in"):
            await provider.run(call_of(provider, "work", talk=talk))
    else:
        await provider.run(call_of(provider, "work", talk=talk))
        assert talk.forms == [asked]


# ── dataclasses and enums ────────────────────────────────────────────────────────────────────────────────────────────


@tool
def palette(of: Palette, colour: Colour = Colour.BLUE) -> Palette:
    """Give it back."""
    return of


@requirement("PROV-21")
async def test_a_dataclass_has_its_defaults_wherever_it_stands() -> None:
    red = {"name": "a", "colour": "red"}
    async with Gateway(palette) as gateway:
        given = {"paints": [{"name": "a"}], "by_name": {"a": {"name": "a"}}}
        result = await gateway.call_tool("palette", of=given)
    assert result.structured_content == {"paints": [red], "best": None, "by_name": {"a": red}}


@requirement("PROV-21")
async def test_arguments_nested_deeply_beside_a_dataclass_with_defaults_are_taken() -> None:
    deep: list[Any] = []
    for _ in range(400):
        deep = [deep]

    @tool
    def how(of: Paint, deep: Any) -> bool:
        """Is it there?"""
        return bool(deep)

    async with Gateway(how) as gateway:
        result = await gateway.call_tool("how", of={"name": "a"}, deep=deep)
    assert result.structured_content == {"result": True}


@requirement("PROV-21")
async def test_the_usage_of_a_tool_names_the_words_of_an_enum() -> None:
    async with Gateway(palette) as gateway:
        wrong = await gateway.call_tool("palette", of={"paints": []}, colour="green")
    assert wrong.content[0]["text"].endswith('(usage: palette(of: object, colour: "blue" | "red" = "blue"))')

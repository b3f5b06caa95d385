"""A caller of the handshake era on a pipe."""

import asyncio
from typing import Any

import pytest
from mcp_types.methods import validate_server_result

from clawft._version import __version__
from clawft.catalog.names import NameForm
from clawft.errors import BadParams, ExecutionFailed, InvalidArguments
from clawft.gateway.core import Gateway
from clawft.gateway.dispatch import read_target
from clawft.model import Call, Caller, CallToolResult, Grant, Prompt, Reply
from clawft.wire.revisions import HANDSHAKE
from tests.gateway.support import Demo, Gate, echo, pipe, serving, soon, texts
from tests.requirements import requirement

LONG = "x" * 100_000


def gateway(*tools: str, **options: Any) -> Gateway:
    made = Gateway(**options)
    demo = Demo()
    for name in tools or ("echo",):
        demo.add(name, echo)
    made.register(demo)
    return made


@requirement("SHELL-01", "SHELL-02", "T-7.13", "WIRE-14", "S4-PR-01")
@pytest.mark.parametrize("revision", HANDSHAKE)
async def test_initialize_echoes_a_revision_we_serve(revision: str) -> None:
    async with pipe(gateway(instructions="be kind")) as caller:
        result = (await caller.initialize(revision))["result"]
        validate_server_result("initialize", revision, result)
        assert result["protocolVersion"] == revision
        assert result["serverInfo"] == {"name": "clawft", "version": __version__}
        assert result["capabilities"]["tools"] == {"listChanged": True}
        assert result["instructions"] == "be kind"


@requirement("SHELL-02", "WIRE-12")
@pytest.mark.parametrize("offered", ["2026-07-28", "2099-01-01", "nonsense"])
async def test_initialize_with_another_revision_offers_our_newest(offered: str) -> None:
    async with pipe(gateway()) as caller:
        assert (await caller.initialize(offered))["result"]["protocolVersion"] == "2025-11-25"


@requirement("SHELL-03", "T-7.14", "AC-18")
@pytest.mark.parametrize(
    "method", ["tools/list", "tools/call", "resources/list", "no/such", "notifications/initialized"]
)
async def test_nothing_is_served_before_initialize(method: str) -> None:
    demo = Demo().add("echo", echo)
    async with pipe(serving(demo)) as caller:
        answer = await caller.ask(method, {"name": "demo__echo"})
        assert answer["error"]["code"] == -32002
        assert "not initialized" in answer["error"]["message"]
        assert (await caller.ask("ping"))["result"] == {}
        assert demo.called == []


@requirement("SHELL-03")
async def test_a_refused_initialize_opens_nothing() -> None:
    async with pipe(gateway()) as caller:
        assert (await caller.ask("initialize", {}))["error"]["code"] == -32602
        assert (await caller.ask("tools/list"))["error"]["code"] == -32002
        assert "result" in await caller.initialize()
        assert "result" in await caller.ask("tools/list")


@requirement("SHELL-04", "WIRE-02")
async def test_notifications_are_never_answered() -> None:
    async with pipe(gateway()) as caller:
        await caller.initialize()
        for method in ("notifications/initialized", "notifications/unknown", "tools/list", "ping", "initialize"):
            caller.notify(method)
        caller.notify("notifications/cancelled", requestId={"not": "an id"})
        caller.notify("notifications/cancelled")
        assert (await caller.ask("ping"))["result"] == {}
        assert caller.messages == []


@requirement("SHELL-05", "T-7.15", "PROV-05", "F8-T13")
@pytest.mark.parametrize("revision", HANDSHAKE)
async def test_tools_are_listed_under_their_exported_names(revision: str) -> None:
    async with pipe(gateway("b", "a")) as caller:
        await caller.initialize(revision)
        result = (await caller.ask("tools/list"))["result"]
        validate_server_result("tools/list", revision, result)
        assert [tool["name"] for tool in result["tools"]] == ["demo__b", "demo__a"]
        assert set(result) == {"tools"}


@requirement("SHELL-05")
async def test_pages_and_cursors() -> None:
    async with pipe(gateway(*"abcde", page_size=2)) as caller:
        await caller.initialize()
        names: list[str] = []
        params: dict[str, Any] = {}
        for _ in range(3):
            page = (await caller.ask("tools/list", params))["result"]
            names += [tool["name"][-1] for tool in page["tools"]]
            params = {"cursor": page.get("nextCursor")}
        assert names == list("abcde")
        assert params == {"cursor": None}


@requirement("SHELL-05")
async def test_a_cursor_that_is_not_ours_is_refused() -> None:
    async with pipe(gateway(*"abcde", page_size=2)) as caller:
        await caller.initialize()
        good = (await caller.ask("tools/list"))["result"]["nextCursor"]
        for bad in ("", "x", good[:-4] + "AAAA", good.swapcase(), "日本", "=" * 50):
            assert (await caller.ask("tools/list", {"cursor": bad}))["error"]["code"] == -32602
        assert (await caller.ask("prompts/list", {"cursor": good}))["error"]["code"] == -32602
        assert (await caller.ask("tools/list", {"cursor": 5}))["error"]["code"] == -32602
        assert "result" in await caller.ask("tools/list", {"cursor": good})


@requirement("SHELL-06", "T-7.16", "PROV-09", "F8-T13")
@pytest.mark.parametrize("form", list(NameForm))
async def test_a_call_reaches_its_tool_by_any_spelling(form: NameForm) -> None:
    async with pipe(gateway(form=form)) as caller:
        await caller.initialize()
        for name in ("demo__echo", "mcp__demo__echo", "mcp:demo__echo", "mcp:demo:echo"):
            assert texts(await caller.call(name, n=1)) == ['{"n": 1}']


@requirement("SHELL-06", "WIRE-19")
async def test_a_call_without_arguments_has_none() -> None:
    async with pipe(gateway()) as caller:
        await caller.initialize()
        assert texts(await caller.ask("tools/call", {"name": "demo__echo"})) == ["{}"]


@requirement("SHELL-06", "WIRE-19")
@pytest.mark.parametrize("more", [{}, {"unheard-of": 1}])
async def test_no_arguments_may_be_written_as_null(more: dict[str, Any]) -> None:
    async with pipe(gateway()) as caller:
        await caller.initialize()
        assert texts(await caller.ask("tools/call", {"name": "demo__echo", "arguments": None, **more})) == ["{}"]


@requirement("SHELL-06", "WIRE-19")
@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
def test_null_is_read_as_left_out(method: str) -> None:
    assert read_target(method, b'{"name":"a","arguments": null }') == read_target(method, b'{"name":"a"}')


@requirement("SHELL-07", "T-7.17")
@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", {}, -32601),
        ("server/discover", {}, -32601),
        ("subscriptions/listen", {"notifications": {}}, -32601),
        ("tasks/get", {"taskId": "t"}, -32602),
        ("tasks/update", {"taskId": "t"}, -32601),
        ("sampling/createMessage", {}, -32601),
        ("notifications/initialized", {}, -32601),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": 5}, -32602),
        ("tools/call", {"name": "demo__echo", "arguments": [1]}, -32602),
        ("tools/call", {"name": "demo__echo", "arguments": "x"}, -32602),
        ("tools/call", {"name": "demo__echo", "arguments": False}, -32602),
        ("tools/call", {"name": "demo__echo", "_meta": 5}, -32602),
        ("resources/read", {}, -32602),
        ("resources/read", {"uri": "no://such"}, -32002),
        ("prompts/get", {"name": "none"}, -32602),
        ("completion/complete", {}, -32602),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}},
            -32602,
        ),
        ("logging/setLevel", {"level": "loud"}, -32602),
        ("logging/setLevel", {}, -32602),
        ("resources/subscribe", {}, -32602),
    ],
)
async def test_what_is_wrong_with_a_request_is_said_by_its_code(method: str, params: dict[str, Any], code: int) -> None:
    async with pipe(gateway()) as caller:
        await caller.initialize()
        assert (await caller.ask(method, params))["error"]["code"] == code
        assert (await caller.ask("ping"))["result"] == {}


@requirement("SHELL-08", "QUAL-12")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": LONG}),
        ("prompts/get", {"name": LONG}),
        (LONG, {}),
        ("logging/setLevel", {"level": LONG}),
        ("tasks/get", {"taskId": LONG}),
    ],
)
async def test_long_words_of_a_caller_are_not_told_back(method: str, params: dict[str, Any]) -> None:
    async with pipe(gateway()) as caller:
        await caller.initialize()
        assert len((await caller.ask(method, params))["error"]["message"]) < 1_000


@requirement("SHELL-08", "T-7.18")
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ExecutionFailed("it broke", hint="mend it"), "it broke (mend it)"),
        (InvalidArguments("n is missing"), "n is missing"),
        (ValueError("odd"), "demo__fails: ValueError: odd"),
        (SystemExit(2), "demo__fails: SystemExit: 2"),
    ],
)
async def test_a_tool_that_fails_gives_a_result_that_says_so(error: BaseException, told: str) -> None:
    async def fails(call: Call) -> Reply:
        raise error

    async with pipe(serving(Demo().add("fails", fails))) as caller:
        await caller.initialize()
        answer = await caller.call("demo__fails")
        assert (answer["result"]["isError"], texts(answer)) == (True, [told])


@requirement("SHELL-08", "WIRE-13")
@pytest.mark.parametrize("error", [RuntimeError("secret detail"), SystemExit(2)])
async def test_what_breaks_below_a_tool_is_one_internal_error(error: BaseException) -> None:
    class Broken(Demo):
        def list_prompts(self) -> list[Any]:
            return [Prompt("x")]

        async def get_prompt(self, call: Call) -> dict[str, Any]:
            raise error

    async with pipe(serving(Broken().add("echo", echo))) as caller:
        await caller.initialize()
        answer = await caller.ask("prompts/get", {"name": "demo__x"})
        assert answer["error"] == {"code": -32603, "message": "internal error"}
        assert texts(await caller.call("demo__echo")) == ["{}"]


@requirement("SHELL-09", "GUARD-07", "PROV-07", "S3-E08")
async def test_an_unknown_tool_and_a_hidden_one_get_the_same_words() -> None:
    demo = Demo().add("shown", echo).add("secret", echo)
    async with pipe(serving(demo), Caller(grant=Grant(deny=("*secret",)))) as caller:
        await caller.initialize()
        listed = (await caller.ask("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["demo__shown"]
        hidden = (await caller.call("demo__secret"))["error"]
        unknown = (await caller.call("demo__nosuch"))["error"]
        assert hidden["code"] == unknown["code"] == -32602
        assert hidden["message"].replace("secret", "nosuch") == unknown["message"]
        assert demo.called == []


@requirement("SHELL-20")
async def test_with_no_provider_there_is_nothing() -> None:
    async with pipe(Gateway()) as caller:
        await caller.initialize()
        assert (await caller.ask("tools/list"))["result"] == {"tools": []}
        assert (await caller.call("x"))["error"]["code"] == -32602


@requirement("SHELL-06")
async def test_a_plain_provider_is_called_with_decoded_arguments() -> None:
    class Plain:
        namespace = "plain"

        def list_tools(self) -> list[Any]:
            return list(Demo().add("add", echo).list_tools())

        async def call_tool(self, name: str, arguments: Any) -> CallToolResult:
            if not arguments:
                raise BadParams("give numbers")
            return CallToolResult.text(f"{name}: {arguments['a'] + arguments['b']}")

    async with pipe(serving(Plain())) as caller:
        await caller.initialize()
        assert texts(await caller.call("plain__add", a=1, b=2)) == ["add: 3"]
        assert (await caller.call("plain__add"))["error"]["code"] == -32602


@requirement("SHELL-14")
async def test_closing_the_pipe_cancels_what_runs() -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        await caller.initialize()
        caller.send("tools/call", {"name": "demo__wait"})
        await soon(gate.begun)
    await soon(gate.cancelled)
    await asyncio.sleep(0)
    assert len(caller.served.running) == 0

"""A caller of the stateless era on a pipe, and the era that the first request settles."""

from typing import Any

import pytest
from mcp_types.methods import validate_server_result

from clawft.gateway.core import Gateway
from clawft.model import Call, Caller, Capabilities, Grant, Reply
from clawft.wire.meta import CAPABILITIES, SERVER, VERSION
from tests.gateway.support import Demo, Gate, echo, modern, pipe, serving, soon, texts
from tests.requirements import requirement

NEW = "2026-07-28"


@requirement("SHELL-18")
async def test_discover_says_what_there_is() -> None:
    async with pipe(serving(Demo(), instructions="be kind")) as caller:
        result = (await caller.ask("server/discover", modern()))["result"]
        validate_server_result("server/discover", NEW, result)
        assert result["supportedVersions"] == [NEW]
        assert result["resultType"] == "complete"
        assert result["instructions"] == "be kind"
        assert result["capabilities"]["tools"] == {"listChanged": True}
        assert "tasks" not in result["capabilities"]
        assert "io.modelcontextprotocol/tasks" in result["capabilities"]["extensions"]
        assert result["_meta"][SERVER]["name"] == "clawft"


@requirement("SHELL-18", "SHELL-05")
@pytest.mark.parametrize(
    ("method", "member"),
    [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ],
)
async def test_lists_carry_their_type_and_how_long_they_keep(method: str, member: str) -> None:
    async with pipe(serving(Demo().add("echo", echo))) as caller:
        result = (await caller.ask(method, modern()))["result"]
        validate_server_result(method, NEW, result)
        assert isinstance(result[member], list)
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] == "private"


@requirement("SHELL-05")
async def test_pages_in_this_era_too() -> None:
    async with pipe(serving(Demo().add("a", echo).add("b", echo), page_size=1)) as caller:
        first = (await caller.ask("tools/list", modern()))["result"]
        second = (await caller.ask("tools/list", modern(cursor=first["nextCursor"])))["result"]
        assert [tool["name"] for page in (first, second) for tool in page["tools"]] == ["demo__a", "demo__b"]
        assert "nextCursor" not in second
        for bad in ("", "x"):
            assert (await caller.ask("tools/list", modern(cursor=bad)))["error"]["code"] == -32602


@requirement("SHELL-18", "SHELL-06")
async def test_a_call_needs_nothing_before_it() -> None:
    async with pipe(serving(Demo().add("echo", echo))) as caller:
        answer = await caller.call("demo__echo", modern(), n=1)
        validate_server_result("tools/call", NEW, answer["result"])
        assert texts(answer) == ['{"n": 1}']
        assert answer["result"]["resultType"] == "complete"
        assert "ttlMs" not in answer["result"]


@requirement("SHELL-07", "SHELL-18", "WIRE-13")
@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", modern(), -32601),
        ("ping", modern(), -32601),
        ("logging/setLevel", modern(level="info"), -32601),
        ("resources/subscribe", modern(uri="x"), -32601),
        ("tasks/list", modern(), -32601),
        ("tasks/result", modern(taskId="x"), -32601),
        ("tools/call", modern(), -32602),
        ("tools/call", modern(name="none"), -32602),
        ("tools/call", modern(name="demo__echo", arguments=[]), -32602),
        ("resources/read", modern(uri="no://such"), -32602),
        ("tools/list", {"_meta": {VERSION: NEW}}, -32602),
        ("tools/list", {"_meta": {VERSION: 5, CAPABILITIES: {}}}, -32602),
        ("tools/list", {"_meta": {VERSION: "2099-01-01", CAPABILITIES: {}}}, -32022),
        ("tools/list", {}, -32602),
        ("tasks/get", modern(taskId="x"), -32021),
        ("subscriptions/listen", modern(), -32602),
        ("subscriptions/listen", modern(notifications={"resourceSubscriptions": ["x"] * 1001}), -32602),
    ],
)
async def test_what_is_wrong_with_a_request_is_said_by_its_code(method: str, params: dict[str, Any], code: int) -> None:
    async with pipe(serving(Demo().add("echo", echo))) as caller:
        await caller.ask("server/discover", modern())
        assert (await caller.ask(method, params))["error"]["code"] == code
        assert "result" in await caller.ask("server/discover", modern())


@requirement("SHELL-18")
async def test_a_missing_resource_is_named_in_the_error() -> None:
    async with pipe(serving(Demo())) as caller:
        error = (await caller.ask("resources/read", modern(uri="no://such")))["error"]
        assert error["data"] == {"uri": "no://such"}


@requirement("GUARD-07", "SHELL-09")
@pytest.mark.parametrize("fields", [{}, {"task": "required"}, {"needs": Capabilities(sampling=True)}])
@pytest.mark.parametrize("capabilities", [{}, {"extensions": {"io.modelcontextprotocol/tasks": {}}}])
async def test_a_hidden_tool_does_not_show_through_what_it_needs(
    fields: dict[str, Any], capabilities: dict[str, Any]
) -> None:
    demo = Demo().add("secret", echo, **fields)
    async with pipe(serving(demo), Caller(grant=Grant(deny=("*secret",)))) as caller:
        hidden = (await caller.call("demo__secret", modern(capabilities)))["error"]
        unknown = (await caller.call("demo__nosuch", modern(capabilities)))["error"]
        assert hidden["code"] == unknown["code"] == -32602
        assert hidden["message"].replace("secret", "nosuch") == unknown["message"]
        assert demo.called == []


@requirement("SHELL-18")
async def test_nothing_is_remembered_from_one_request_to_the_next() -> None:
    seen: list[Caller] = []

    async def who(call: Call) -> Reply:
        seen.append(call.caller)
        return Reply.text("")

    async with pipe(serving(Demo().add("who", who))) as caller:
        await caller.call("demo__who", modern({"sampling": {}}))
        await caller.call("demo__who", modern())
        assert [each.capabilities.sampling for each in seen] == [True, False]


# ── the era of a pipe ────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-18")
@pytest.mark.parametrize(
    "first",
    [
        modern(),
        {"_meta": {VERSION: "2099-01-01", CAPABILITIES: {}}},
        {"_meta": {VERSION: 5}},
        {"_meta": {VERSION: NEW}},
    ],
)
async def test_a_stateless_first_request_settles_the_era_even_if_it_is_refused(first: dict[str, Any]) -> None:
    async with pipe(serving(Demo())) as caller:
        await caller.ask("server/discover", first)
        refused = (await caller.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}))["error"]
        assert refused["code"] == -32022
        assert refused["data"]["supported"] == [NEW]
        assert "result" in await caller.ask("tools/list", modern())


@requirement("SHELL-18")
async def test_initialize_settles_the_era_too() -> None:
    async with pipe(serving(Demo())) as caller:
        await caller.initialize()
        assert (await caller.ask("tools/list", modern()))["error"]["code"] == -32600
        assert "result" in await caller.ask("tools/list")


@requirement("SHELL-18", "SHELL-03")
async def test_a_ping_or_a_refused_request_settles_nothing() -> None:
    async with pipe(serving(Demo())) as caller:
        await caller.ask("ping")
        assert (await caller.ask("tools/list"))["error"]["code"] == -32002
        assert "result" in await caller.ask("tools/list", modern())


@requirement("SHELL-18")
async def test_the_slash_of_the_key_may_be_escaped() -> None:
    """Some serializers write every slash that way."""
    async with pipe(serving(Demo())) as caller:
        key = VERSION.replace("/", "\\/")
        capabilities = CAPABILITIES.replace("/", "\\/")
        caller.line(
            f'{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"{key}":"{NEW}","{capabilities}":{{}}}}}}}}'.encode()
        )
        assert "result" in await caller.answer(1)


@requirement("SHELL-18")
async def test_answers_of_a_stateless_client_are_dropped() -> None:
    async with pipe(serving(Demo())) as caller:
        await caller.ask("tools/list", modern())
        caller.write({"jsonrpc": "2.0", "id": 1, "result": {}})
        await caller.ask("tools/list", modern())
        assert caller.messages == []


# ── cleaning up ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-14")
async def test_closing_cancels_stateless_calls_too() -> None:
    gate = Gate()
    served: Gateway = serving(Demo().add("wait", gate))
    async with pipe(served) as caller:
        caller.send("tools/call", modern(name="demo__wait"))
        await soon(gate.begun)
    await soon(gate.cancelled)

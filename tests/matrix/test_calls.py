"""Calls, lists and reads in every pair: what is asked arrives, what is answered comes back whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.matrix.agents import META, Agent, HttpLine
from tests.matrix.cells import Cell, cells
from tests.matrix.houses import Houses, connected
from tests.requirements import requirement

pytestmark = pytest.mark.slow

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"


def plain(agent: Agent, result: dict[str, Any]) -> bool:
    """Only stateless results say what they are."""
    return (result.get("resultType") == "complete") is (agent.era == "stateless")


@requirement("SHELL-18", "PROV-14")
@cells("tools/call")
async def test_a_call_and_its_answer(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        result = await agent.call("echo", token="over", meta={"vendor/there": [1.5]})
        assert result["content"] == [{"type": "text", "text": "over"}]
        assert result["_meta"]["vendor/back"] == [1.5]
        assert plain(agent, result)


@requirement("WIRE-21", "PROV-15")
@cells("lists, all pages")
async def test_lists_come_whole(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        for what, member, name in (
            ("tools", "tools", "long_job"),
            ("prompts", "prompts", "greet"),
            ("resources", "resources", "note"),
            ("resources/templates", "resourceTemplates", "page"),
        ):
            result = await agent.result(f"{what}/list")
            assert name in [item["name"] for item in result[member]]
            assert plain(agent, result)
            assert ("ttlMs" in result) is (cell.agent == "stateless")
        assert (await agent.ask("tools/list", cursor="not ours"))["error"]["code"] == -32602


@requirement("RES-01", "RES-06")
@cells("resources/read")
async def test_a_resource_is_read_and_one_that_is_missing_has_the_code_of_the_era(
    cell: Cell, houses: Houses, tmp_path: Path
) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        result = await agent.result("resources/read", uri="matrix://page/7")
        assert result["contents"][0]["uri"] == "matrix://page/7"
        assert plain(agent, result)
        error = (await agent.ask("resources/read", uri="matrix://page/0"))["error"]
        assert error["code"] == (-32602 if cell.agent == "stateless" else -32002)
        assert error["data"]["uri"] == "matrix://page/0"


@requirement("RES-07", "RES-11")
@cells("prompts/get, completion")
async def test_a_prompt_and_the_completion_of_its_argument(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        result = await agent.result("prompts/get", name="greet", arguments={"who": "ada"})
        assert result["messages"][0]["content"]["text"] == "Hello ada"
        for ref in ({"type": "ref/prompt", "name": "greet"}, {"type": "ref/resource", "uri": "matrix://page/{n}"}):
            asked = {"ref": ref, "argument": {"name": "who", "value": "a"}}
            done = await agent.result("completion/complete", **asked, context={"arguments": {"where": "here"}})
            assert done["completion"] == {"values": ["a!", "here"], "total": 700, "hasMore": True}


@requirement("RES-04", "WIRE-21")
@cells("errors")
async def test_what_fails_is_told_as_the_server_tells_it(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        assert (await agent.call("fail"))["isError"] is True
        for code in (-32050, -32603, -32602, -32000, 7):
            refused = await agent.ask("tools/call", name="refuse", arguments={"code": code, "data": {"k": "v"}})
            assert refused["error"] == {"code": code, "message": "refused", "data": {"k": "v"}}
        for code in (-32020, -32022):  # about our own request, so not for the agent's eyes as it is
            assert "disagree about the protocol" in (await agent.call("refuse", code=code))["content"][0]["text"]
        assert (await agent.ask("tools/call", name="no_such"))["error"]["code"] == -32602


@requirement("RES-13")
@cells("structure that is not an object", servers=["stateless"])
async def test_structure_of_the_stateless_era(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        listed = {tool["name"]: tool for tool in (await agent.result("tools/list"))["tools"]}
        result = await agent.call("structured")
        if cell.agent == "stateless":
            assert result["structuredContent"] == [1, 2]
            assert listed["structured"]["outputSchema"] == {"type": "array"}
        else:
            assert "structuredContent" not in result
            assert "outputSchema" not in listed["structured"]
            assert result["content"] == [{"type": "text", "text": "[1, 2]"}]


OLD = ("2024-11-05", "2025-03-26", "2025-06-18")


@requirement("RES-13")
@cells("down-conversion", agents=["handshake"])
async def test_older_agents_get_what_they_know(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    for revision in OLD:
        folder = tmp_path / revision
        folder.mkdir()
        async with connected(cell, houses, folder, revision=revision) as agent:
            listed = {tool["name"]: tool for tool in (await agent.result("tools/list"))["tools"]}
            assert not {"icons", "execution"} & listed["structured"].keys()
            assert ("title" in listed["structured"]) is (revision == "2025-06-18")
            kinds = [block["type"] for block in (await agent.call("blocks"))["content"]]
            heard = await agent.result("prompts/get", name="listen")
            sounds = [message["content"]["type"] for message in heard["messages"]]
            assert (kinds, sounds) == BLOCKS[revision]
            structured = await agent.call("structured")
            known = revision == "2025-06-18" and cell.server == "handshake"
            assert ("structuredContent" in structured) is known
            assert known or structured["content"][0]["type"] == "text"


BLOCKS = {
    "2024-11-05": (["text", "text", "text", "widget"], ["text", "text"]),
    "2025-03-26": (["text", "audio", "text", "widget"], ["text", "audio"]),
    "2025-06-18": (["text", "audio", "resource_link", "widget"], ["resource_link", "audio"]),
}


@requirement("RES-12")
@cells("trace context")
async def test_a_trace_continues_under_our_span(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        word = f"traced-{cell}"
        meta = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "a=1", "baggage": f"b={word}"}
        await agent.call("echo", meta=meta)
        await agent.result("resources/read", uri="matrix://page/1", _meta=envelope(agent) | meta)
        await agent.result("prompts/get", name="greet", arguments={"who": "x"}, _meta=envelope(agent) | meta)
        seen = json.loads(await agent.say("seen", word=word))
        assert [each["method"] for each in seen] == ["tools/call", "resources/read", "prompts/get"]
        for each in seen:
            told = each["params"]["_meta"]
            version, trace, span, flags = told["traceparent"].split("-")
            assert (version, trace, flags, told["tracestate"]) == ("00", TRACE, "01", "a=1")
            assert span != SPAN
            assert told.get(META + "protocolVersion") == ("2026-07-28" if cell.server == "stateless" else None)


def envelope(agent: Agent) -> dict[str, Any]:
    if agent.era == "handshake":
        return {}
    return {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}


@requirement("SHELL-18", "WIRE-21")
@cells("x-mcp-header")
async def test_an_argument_that_travels_as_a_header_too(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        if isinstance(agent.line, HttpLine) and cell.agent == "stateless":
            refused = await agent.answer(agent.start_call("where", region="zürich"))
            assert refused["error"]["code"] == -32020
            agent.line.more = {"Mcp-Param-Region": "=?base64?esO8cmljaA==?="}
        told = json.loads(await agent.say("where", region="zürich"))
        assert told["arguments"] == {"region": "zürich"}
        sent = {name.lower(): value for name, value in told["headers"].items()}
        both = cell.transport == "http" and cell.server == "stateless"
        assert sent.get("mcp-param-region") == ("=?base64?esO8cmljaA==?=" if both else None)


@requirement("RES-01")
@cells("kept resources", servers=["stateless"])
async def test_what_a_server_lets_us_keep_is_kept(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        for uri, scope in (("matrix://public", "public"), ("matrix://private", "private")):
            first = await agent.result("resources/read", uri=uri)
            again = await agent.result("resources/read", uri=uri)
            assert again["contents"] == first["contents"]
            if cell.agent == "stateless":
                assert again["cacheScope"] == scope
                assert 0 < again["ttlMs"] <= first["ttlMs"] <= 60_000
            else:
                assert not {"ttlMs", "cacheScope"} & again.keys()
        before = (await agent.result("resources/read", uri="matrix://public"))["contents"]
        await agent.watch(["matrix://public"])
        await agent.say("touch", uri="matrix://public")
        await agent.notice("notifications/resources/updated")
        assert (await agent.result("resources/read", uri="matrix://public"))["contents"] != before
        one = (await agent.result("resources/read", uri="matrix://note"))["contents"]
        assert (await agent.result("resources/read", uri="matrix://note"))["contents"] != one


@requirement("SHELL-18")
@cells("ping, discover")
async def test_what_only_one_era_has_is_answered_by_the_gateway(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        if cell.agent == "handshake":
            assert await agent.result("ping") == {}
        else:
            assert (await agent.result("server/discover"))["supportedVersions"] == ["2026-07-28"]
            for gone in ("ping", "logging/setLevel", "resources/subscribe"):
                assert (await agent.ask(gone, level="info", uri="x://y"))["error"]["code"] == -32601

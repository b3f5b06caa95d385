"""What an agent and a server say to each other passes through us as it came, also what we have never heard of."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement
from tests.servers.pipe import NEWEST, Json, Pipe, call, line, mcp_server, modern_meta, text_of
from tests.servers.weft import ROOT

pytestmark = pytest.mark.slow  # processes

ERAS = ("handshake", "stateless")
MIRROR = Path(__file__).parents[1] / "servers" / "mirror.py"
ERROR = {"code": -31999, "message": "not me", "data": {"n": 1.5, "list": [None]}}
MORE = {"x-more": {"n": 1.5}, "further": [None]}
between = pytest.mark.parametrize(("agent", "server"), [(agent, server) for agent in ERAS for server in ERAS])


class Agent:
    """One client of either era, over a pipe."""

    def __init__(self, era: str, pipe: Pipe) -> None:
        self.era = era
        self.pipe = pipe

    async def ask(self, method: str, **params: Any) -> Json:
        if self.era == "stateless":
            params["_meta"] = modern_meta(**params.get("_meta", {}))
        return await self.pipe.ask(method, params)


@asynccontextmanager
async def connected(
    agent: str, server: str, folder: Path, revision: str = NEWEST, entry: Json | None = None, **capabilities: Any
) -> AsyncGenerator[Agent]:
    mirror = {"command": sys.executable, "args": [str(MIRROR), server], "trust": "trusted", "sandbox": "off"}
    mirror |= entry or {}
    options = ("--no-builtin", "--names", "bare", "--mcp-config", json.dumps({"mcpServers": {"m": mirror}}))
    async with mcp_server(folder, *options, package=ROOT) as pipe:
        one = Agent(agent, pipe)
        if agent == "handshake":
            await pipe.open(revision, **capabilities)
            await pipe.ask("logging/setLevel", {"level": "debug"})
        while len((await one.ask("tools/list"))["result"]["tools"]) < 4:
            pass
        yield one


async def decline(one: Agent, asked: Json) -> None:
    """Call 1 has its end: weft would wait for it when we leave."""
    await one.pipe.send(line({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "no"}}))
    await one.pipe.answer(1)


@requirement("WIRE-21")
@between
async def test_members_of_a_request_that_we_do_not_know_reach_the_server(
    agent: str, server: str, tmp_path: Path
) -> None:
    async with connected(agent, server, tmp_path) as one:
        shown = [
            text_of(await one.ask("tools/call", name="show", arguments={"a": 1}, **MORE)),
            (await one.ask("prompts/get", name="show", **MORE))["result"]["messages"][0]["content"]["text"],
            (await one.ask("resources/read", uri="mirror://show", **MORE))["result"]["contents"][0]["text"],
        ]
        assert [{key: json.loads(each)[key] for key in MORE} for each in shown] == [MORE, MORE, MORE]
        wrong = await one.ask("tools/call", arguments={}, **MORE)
        assert (wrong["error"]["code"], "name" in wrong["error"]["message"]) == (-32602, True)


@requirement("WIRE-21", "RES-11")
@between
async def test_a_completion_passes_whole_in_both_directions(agent: str, server: str, tmp_path: Path) -> None:
    async with connected(agent, server, tmp_path) as one:
        ref = {"type": "ref/prompt", "name": "show", **MORE}
        argument, context = {"name": "a", "value": "v", **MORE}, {"arguments": {"b": "c"}, **MORE}
        told = {"ref": ref, "argument": argument, "context": context, **MORE}
        result = (await one.ask("completion/complete", **told, _meta={"v/q": 1, "progressToken": 7}))["result"]
        [shown] = result["completion"].pop("values")
        reached = json.loads(shown)
        assert {key: reached[key] for key in told} == told
        assert (reached["_meta"]["v/q"], "progressToken" in reached["_meta"]) == (1, False)
        assert (result["completion"], result["_meta"]["v/r"]) == (MORE, 1)
        assert {key: result[key] for key in MORE} == MORE


@requirement("WIRE-21", "RES-11")
@between
async def test_a_notice_has_all_its_members_and_numbers_as_they_were_spelled(
    agent: str, server: str, tmp_path: Path
) -> None:
    progress = '"progress":1,"total":100,"x-more":{"n":1.50},"_meta":{"v/p":1}'
    said = '"level":"info","x-more":{"n":1.50},"data":{"n":1.50},"_meta":{"v/l":1}'
    notices = [_notice("progress", f'"progressToken":$TOKEN,{progress}'), _notice("message", said)]
    async with connected(agent, server, tmp_path) as one:
        level = {"io.modelcontextprotocol/logLevel": "debug"} if agent == "stateless" else {}
        told: Json = {"lines": notices, "result": {"content": []}}
        await one.pipe.send(call(1, "say", told, _meta=_meta(agent, progressToken="mine", **level)))
        lines = [await one.pipe.stdout.readline() for _ in range(3)]
        assert f'"params":{{"progressToken":"mine",{progress}}}'.encode() in lines[0]
        assert f'"params":{{{said}}}'.encode() in lines[1]
        assert b'"id":1' in lines[2]


def _notice(kind: str, members: str) -> str:
    return f'{{"jsonrpc":"2.0","method":"notifications/{kind}","params":{{{members}}}}}'


def _meta(agent: str, **more: Any) -> Json:
    return modern_meta(**more) if agent == "stateless" else more


@requirement("WIRE-03", "WIRE-13")
@between
async def test_an_error_of_a_server_keeps_its_code_its_message_and_its_data(
    agent: str, server: str, tmp_path: Path
) -> None:
    async with connected(agent, server, tmp_path) as one:
        completing = {"ref": {"type": "ref/prompt", "name": "refuse"}, "argument": {"name": "x", "value": "y"}}
        refused = [
            await one.ask("prompts/get", name="refuse"),
            await one.ask("resources/read", uri="mirror://refuse"),
            await one.ask("completion/complete", **completing),
        ]
        assert [each["error"] for each in refused] == [ERROR, ERROR, ERROR]


@requirement("WIRE-08", "WIRE-05")
@between
async def test_only_the_call_whose_answer_is_too_long_fails(agent: str, server: str, tmp_path: Path) -> None:
    async with connected(agent, server, tmp_path) as one:
        await one.pipe.send(
            call(1, "later", _meta=_meta(agent)), call(2, "say", {"long": 17 * 1024 * 1024}, _meta=_meta(agent))
        )
        too_long, other = await one.pipe.answer(2), await one.pipe.answer(1)
        assert "longer than 16777216 bytes" in text_of(too_long)
        assert "max_message" in text_of(too_long)
        assert text_of(other) == "at last"


@requirement("WIRE-08")
@pytest.mark.parametrize(("most", "fine"), [(20 * 1024 * 1024, True), (64 * 1024, False)])
async def test_a_server_may_be_allowed_longer_messages_or_shorter_ones(tmp_path: Path, most: int, fine: bool) -> None:
    async with connected("handshake", "handshake", tmp_path, entry={"max_message": most}) as one:
        long = 17 * 1024 * 1024 if fine else 100_000
        await one.pipe.send(call(1, "say", {"long": long}, _meta=_meta("handshake")))
        answer = text_of(await one.pipe.answer(1))
        assert (answer.count("x") > 60_000, "max_message" in answer) == (fine, not fine), answer[-300:]


@requirement("WIRE-08", "WIRE-05")
@pytest.mark.parametrize("agent", ERAS)
async def test_a_request_that_is_too_long_is_told_so_by_its_id(agent: str, tmp_path: Path) -> None:
    async with connected(agent, "handshake", tmp_path) as one:
        await one.pipe.send(call("mine", "show", {"a": "x" * (17 * 1024 * 1024)}, _meta=_meta(agent)))
        assert "too long" in (await one.pipe.answer("mine"))["error"]["message"]
        assert "error" not in await one.ask("tools/call", name="show", arguments={})


@requirement("RES-12")
async def test_extensions_of_a_server_are_told_to_its_agent(tmp_path: Path) -> None:
    async with connected("stateless", "stateless", tmp_path) as one:
        told = (await one.ask("server/discover"))["result"]["capabilities"]["extensions"]
        assert told == {"com.example/x": {"n": 1.5}, "io.modelcontextprotocol/tasks": {}}


@requirement("RES-12")
@between
async def test_the_page_of_a_tool_can_be_read_though_it_is_not_listed(agent: str, server: str, tmp_path: Path) -> None:
    async with connected(agent, server, tmp_path) as one:
        shown = (await one.ask("tools/list"))["result"]["tools"][0]["_meta"]["ui"]["resourceUri"]
        (page,) = (await one.ask("resources/read", uri=shown))["result"]["contents"]
        assert (page["uri"], shown) == ("ui://show", "ui://show")
        nowhere = (await one.ask("resources/read", uri="ui://nowhere"))["error"]
        assert nowhere["code"] == (-32602 if agent == "stateless" else -32002)


FORM: Json = {
    "type": "object",
    "properties": {
        "one": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
        "some": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
    },
}


@requirement("RES-13", "RES-10")
@pytest.mark.parametrize("revision", ["2025-06-18", NEWEST])
async def test_an_older_agent_is_asked_in_the_form_it_knows(revision: str, tmp_path: Path) -> None:
    older = {
        "one": {"type": "string", "enum": ["a"], "enumNames": ["A"]},
        "some": {"type": "string", "enum": ["x", "y"]},
    }
    newest = revision == NEWEST
    question = {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": FORM}}
    async with connected("handshake", "handshake", tmp_path, revision, elicitation={}) as one:
        await one.pipe.send(call(1, "ask", question))
        asked = await one.pipe.read()
        assert asked["params"]["requestedSchema"]["properties"] == (FORM["properties"] if newest else older)
        chosen = {"one": "a", "some": ["y"] if newest else "y"}
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": chosen}}
        await one.pipe.send(json.dumps(answer).encode() + b"\n")
        heard = json.loads(text_of(await one.pipe.answer(1)))["result"]
        assert heard == {"action": "accept", "content": {"one": "a", "some": ["y"]}}


SAMPLING: Json = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "q"}}],
    "maxTokens": 5,
    "tools": [{"name": "x", "inputSchema": {"type": "object"}}],
}


@requirement("RES-08", "RES-13")
@pytest.mark.parametrize("can", [{}, {"tools": {}}])
@pytest.mark.parametrize("mode", ["auto", "required"])
async def test_a_model_gets_tools_only_where_the_agent_says_that_it_can_use_them(
    can: Json, mode: str, tmp_path: Path
) -> None:
    question = {"method": "sampling/createMessage", "params": {**SAMPLING, "toolChoice": {"mode": mode}}}
    async with connected("handshake", "handshake", tmp_path, sampling=can) as one:
        await one.pipe.send(call(1, "ask", question))
        told = await one.pipe.read()
        if not can and mode == "required":
            assert json.loads(text_of(told))["error"]["code"] == -32601
        else:
            assert [key in told["params"] for key in ("tools", "toolChoice")] == [bool(can)] * 2
            await decline(one, told)


@requirement("RES-08", "RES-13")
@pytest.mark.parametrize("can", [{}, {"tools": {}}])
async def test_a_model_is_told_what_tools_said_only_where_the_agent_says_that_it_can_use_them(
    can: Json, tmp_path: Path
) -> None:
    told = [{"type": "tool_result", "toolUseId": "u", "content": [{"type": "text", "text": "rain"}]}]
    question = {
        "method": "sampling/createMessage",
        "params": {**SAMPLING, "messages": [{"role": "user", "content": told}]},
    }
    async with connected("handshake", "handshake", tmp_path, sampling=can) as one:
        await one.pipe.send(call(1, "ask", question))
        asked = await one.pipe.read()
        if can:
            assert asked["params"]["messages"] == [{"role": "user", "content": told}]
            await decline(one, asked)
        else:
            assert json.loads(text_of(asked))["error"]["code"] == -32601

"""The tools, resources and prompts of real children and of tables, through the provider."""

import asyncio
import json
import os
import random
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clawft.errors import (
    ClawftError,
    ExecutionFailed,
    JsonRpcFailure,
    LinkClosed,
    MessageTooLong,
    MissingCapability,
    ParseError,
    ProtocolFailure,
    RequestTimeout,
    ToolError,
)
from clawft.gateway.core import Gateway
from clawft.link.base import LinkKind, OutgoingRequest
from clawft.link.memory import MemoryLink
from clawft.model import (
    Call,
    Caller,
    Capabilities,
    Completing,
    Completion,
    Era,
    ForeignCompletion,
    Kind,
    Origin,
    Reply,
    SilentTalk,
    Tool,
)
from clawft.provider.base import Provider
from clawft.provider.server import relay
from clawft.provider.server.server_provider import ServerProvider, as_result
from clawft.provider.server.server_providers import ServerProviders
from clawft.store.concealed_secrets import keep_concealed
from clawft.upstream import backoff
from clawft.upstream.pool import Pool
from clawft.upstream.spec import ToolRules
from tests.requirements import requirement
from tests.upstream.support import Tables, answers, child, pool, table, tool, until

pytestmark = pytest.mark.slow  # processes that take their time


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)


class Registry:
    def __init__(self) -> None:
        self.providers: dict[str, Provider] = {}

    def register(self, provider: Provider, *, server: str = "", trusted: bool = True) -> None:
        self.providers[provider.namespace] = provider

    def unregister(self, namespace: str) -> None:
        del self.providers[namespace]

    def arrange(self, namespaces: Sequence[str]) -> None:
        self.providers = {namespace: self.providers[namespace] for namespace in namespaces}


class Heard(SilentTalk):
    def __init__(self) -> None:
        self.steps: list[tuple[float, float | None, str]] = []

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        self.steps.append((progress, total, message))


@asynccontextmanager
async def served(
    folder: Path, *specs: Any, ways: Tables | None = None, **options: Any
) -> AsyncGenerator[tuple[Pool, Registry, ServerProviders]]:
    async with pool(folder, ways, **options) as mine:
        registry = Registry()
        providers = ServerProviders(mine, registry)
        await mine.set_servers({spec.name: spec for spec in specs}, seconds=20)
        yield mine, registry, providers


def provider(of: ServerProviders, name: str) -> ServerProvider:
    found = of.find(name)
    assert found is not None
    return found


def call(of: ServerProvider, name: str, meta: bytes = b"", talk: SilentTalk | None = None, **arguments: Any) -> Call:
    tool = next((each for each in of.list_tools() if each.name == name), Tool(name, b""))
    origin = Origin(of.namespace, of.server, False)
    return Call(Caller(), name, tool, origin, json.dumps(arguments).encode(), meta, talk or SilentTalk())


def text(reply: Reply) -> str:
    return json.loads(reply.result)["content"][0]["text"]


# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement(
    "PROV-14", "PROV-16", "F9b-T19", "F9b-T20", "F9a-A01", "test_mcp_tool_provider_namespace", "MGR-01", "MGR-02",
    "MGR-17", "S2-P6-01", "S2-P6-02", "S2-P6-03", "test_mcp_end_to_end", "T-6.1",
)  # fmt: skip
async def test_a_real_server_from_connecting_to_disconnecting(tmp_path: Path) -> None:
    async with served(tmp_path, child("git")) as (mine, registry, providers):
        one = provider(providers, "git")
        assert (one.namespace, one.server, list(registry.providers)) == ("mcp:git", "git", ["mcp:git"])
        assert "echo" in [each.name for each in one.list_tools()]
        assert (await one.call_tool("echo", {"token": "x"})).content == [{"type": "text", "text": "x"}]
        await mine.disconnect("git")
        assert registry.providers == {}


@requirement("PROV-17", "test_mcp_tool_provider_refresh_tools", "test_mcp_tool_provider_empty_cache", "F9a-A06")
async def test_a_list_is_empty_before_the_first_answer_and_never_during_a_refresh(tmp_path: Path) -> None:
    go = asyncio.Event()
    listed: list[str] = ["one"]

    async def slow(_: OutgoingRequest) -> Mapping[str, Any]:
        await go.wait()
        return {"tools": [tool(name) for name in listed]}

    async with pool(tmp_path, Tables({"a": answers(**{"tools/list": slow})})) as mine:
        providers = ServerProviders(mine, Registry())
        await mine.set_servers({"a": table("a")})
        one = provider(providers, "a")
        assert one.list_tools() == []
        go.set()
        await mine.settled(5)
        go.clear()
        listed.append("two")
        refreshing = asyncio.ensure_future(one.refresh_tools())
        await asyncio.sleep(0)
        assert [each.name for each in one.list_tools()] == ["one"]
        go.set()
        await refreshing
        assert [each.name for each in one.list_tools()] == ["one", "two"]


@requirement("PROV-15", "PROV-18", "F9b-T22", "test_mcp_tool_provider_list_tools_namespaced", "POOL-16", "SEC-A02")
async def test_a_thousand_tools_of_twenty_servers_each_lead_to_their_own_under_every_spelling(tmp_path: Path) -> None:
    names = [f"t{n}" for n in range(50)]

    def answering(server: str) -> Any:
        def say(sent: OutgoingRequest) -> Mapping[str, Any]:
            return {"content": [{"type": "text", "text": f"{server} {json.loads(sent.params)['name']}"}]}

        return answers(*names, **{"tools/call": say})

    servers = [f"s{n}" for n in range(20)]
    async with pool(tmp_path, Tables({server: answering(server) for server in servers})) as mine:
        gateway = Gateway()
        ServerProviders(mine, gateway)
        await mine.set_servers({server: table(server) for server in servers}, seconds=20)
        assert (len(gateway.tools.entries), gateway.tools.clashes) == (1000, ())
        for spelling in ("s7__t9", "mcp:s7__t9", "mcp:s7:t9", "mcp__s7__t9"):
            assert text(await gateway.call(Caller(), spelling)) == "s7 t9"
        found = gateway.tools.find("s7__t9")
        assert found is not None
        assert (found.canonical, found.origin) == ("mcp:s7__t9", Origin("mcp:s7", "s7", trusted=False))


@requirement("PROV-16")
async def test_only_the_allowed_tools_of_a_server_are_offered(tmp_path: Path) -> None:
    rules = ToolRules(allow=("e*", "die"), deny=("die",))
    async with served(tmp_path, table("a", tools=rules), ways=Tables({"a": answers("echo", "die", "long")})) as (
        _,
        _,
        p,
    ):
        assert [each.name for each in provider(p, "a").list_tools()] == ["echo"]


@requirement("PROV-16", "F9b-T21", "F9a-A07", "test_mcp_tool_provider_is_error_handling")
async def test_a_result_marked_as_an_error_comes_back_as_one_untouched(tmp_path: Path) -> None:
    said = {"content": [{"type": "text", "text": "no"}], "isError": True, "x-more": [1.50]}
    async with served(tmp_path, child("a")) as (_, _, providers):
        one = provider(providers, "a")
        reply = await one.run(call(one, "raw", result=said))
        assert (reply.is_error, json.loads(reply.result)) == (True, said)


@requirement("PROV-16", "WIRE-03")
async def test_an_error_answer_passes_whole(tmp_path: Path) -> None:
    async with served(tmp_path, child("a")) as (_, _, providers):
        one = provider(providers, "a")
        with pytest.raises(JsonRpcFailure) as failed:
            await one.run(call(one, "refuse", code=7, message="mine", data={"n": 1}))
        assert (failed.value.code, failed.value.message, failed.value.data) == (7, "mine", {"n": 1})
        assert (failed.value.error_code, failed.value.error_data) == (7, {"n": 1})


@requirement("PROV-16")
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            {"code": -32042, "message": "log in", "data": {"elicitations": [{"url": "https://x.example/go"}]}},
            "open https://x.example/go in a browser",
        ),
        ({"code": -32021, "message": "no", "data": {"requiredCapabilities": {"sampling": {}}}}, "needs sampling,"),
        (
            {"code": -32021, "message": "no", "data": {"requiredCapabilities": {"elicitation": {"url": {}}}}},
            "needs elicitation.url,",
        ),
        ({"code": -32022, "message": "no"}, "disagree about the protocol"),
        ({"code": -32700, "message": "no"}, "a: no (code -32700); clawft and the server disagree about the protocol"),
        ({"code": -32600, "message": "no"}, "a: no (code -32600); clawft and the server disagree about the protocol"),
    ],
)
async def test_an_error_about_our_request_is_told_in_words_that_name_the_server(
    tmp_path: Path, error: Mapping[str, Any], words: str
) -> None:
    async with served(tmp_path, child("a")) as (_, _, providers):
        one = provider(providers, "a")
        with pytest.raises((ExecutionFailed, MissingCapability)) as failed:
            await one.run(call(one, "refuse", **error))
        assert words in str(failed.value)


@requirement("MGR-15", "POOL-05")
async def test_answers_that_break_the_protocol_are_told_of_in_the_status(tmp_path: Path) -> None:
    """That is where their errors send the reader."""
    odd = answers(**{"tools/call": {"content": "text"}, "prompts/get": {"messages": 5}})
    async with served(tmp_path, table("a"), ways=Tables({"a": odd})) as (mine, _, providers):
        one = provider(providers, "a")
        with pytest.raises(ExecutionFailed, match=r"a: its content is malformed.*weft servers status a"):
            await one.run(call(one, "one"))
        with pytest.raises(ExecutionFailed, match="a: its answer to prompts/get is malformed"):
            await one.get_prompt(call(one, "p"))
        assert mine.server_status("a").faults == {"answers that break the protocol": 2}


@requirement("SESS-13", "POOL-25")
async def test_a_tool_has_its_own_deadline_and_progress_extends_it_to_a_hard_limit(tmp_path: Path) -> None:
    rules = ToolRules(timeout_ms={"echo": 100, "report": 300})
    async with served(tmp_path, child("a", timeout_ms=60_000, tools=rules)) as (_, _, providers):
        one = provider(providers, "a")
        with pytest.raises(ExecutionFailed, match="no answer within 100 ms"):
            await one.run(call(one, "echo", seconds=5))
        heard = Heard()
        meta = b'{"progressToken":"theirs"}'
        assert text(await one.run(call(one, "report", meta, heard, steps=4, pause=0.2))) == "done"
        assert heard.steps[0] == (1.0, 3.0, "step 1")
        assert len(heard.steps) == 4
        with pytest.raises(
            ExecutionFailed, match="no answer within 3000 ms, the most that signs of life make of 300 ms"
        ):
            await one.run(call(one, "report", meta, heard, steps=100, pause=0.2))


ANSWERS_LATER = Caller(era=Era.STATELESS, revision="2026-07-28", capabilities=Capabilities(elicit_form=True))


@requirement("POOL-24", "SESS-23")
@pytest.mark.parametrize("caller", [Caller(), ANSWERS_LATER], ids=["handshake", "stateless"])
async def test_a_lost_call_is_made_again_only_if_it_may_be(caller: Caller, tmp_path: Path) -> None:
    said: list[str] = []

    def crash_once(sent: OutgoingRequest) -> Any:
        said.append(json.loads(sent.params)["name"])
        if said.count(said[-1]) == 1:
            ways.last("a").break_off()
            return LinkClosed("gone in the middle")
        return {"content": [{"type": "text", "text": "at last"}]}

    listed = {"tools": [tool("plain"), tool("read", readOnlyHint=True), tool("same", idempotentHint=True)]}
    ways = Tables({"a": answers(**{"tools/list": listed, "tools/call": crash_once})})
    async with served(tmp_path, table("a"), ways=ways) as (mine, _, providers):
        one = provider(providers, "a")
        for name in ("read", "same"):
            assert text(await one.run(replace(call(one, name), caller=caller))) == "at last"
        await mine.get("a")
        with pytest.raises(ExecutionFailed, match="a: gone in the middle"):
            await one.run(replace(call(one, "plain"), caller=caller))
        assert not mine.find("a").flights
        assert said == ["read", "read", "same", "same", "plain"]


@requirement("SESS-23")
@pytest.mark.parametrize("caller", [Caller(), ANSWERS_LATER], ids=["handshake", "stateless"])
async def test_what_only_reads_is_asked_again_when_it_was_lost(caller: Caller, tmp_path: Path) -> None:
    lost: list[str] = []

    def crash_once(sent: OutgoingRequest) -> Any:
        if sent.method not in lost:
            lost.append(sent.method)
            ways.last("a").break_off()
            return LinkClosed("gone in the middle")
        return {"contents": [], "messages": [], "completion": {"values": ["at last"]}}

    reads = dict.fromkeys(("resources/read", "prompts/get", "completion/complete"), crash_once)
    able: dict[str, Any] = {"tools": {}, "resources": {}, "completions": {}}
    listed: dict[str, Any] = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "table"}},
        "resources/list": {"resources": [{"uri": "t://a", "name": "a"}]},
        "resources/templates/list": {"resourceTemplates": []},
    }
    ways = Tables({"a": answers(**reads, **listed)})
    ref = {"type": "ref/prompt", "name": "p"}
    async with served(tmp_path, table("a"), ways=ways) as (_, _, providers):
        one = provider(providers, "a")
        assert await one.read_resource_for(replace(call(one, "t://a"), caller=caller)) is not None
        assert b"messages" in await one.get_prompt(replace(call(one, "p"), caller=caller))
        assert (await one.complete_after(Completing(ref, "x", ""))).values == ["at last"]
        assert lost == list(reads)


@requirement("LINK-21")
async def test_a_refused_header_leads_to_a_new_list_and_one_more_try(tmp_path: Path) -> None:
    class Http(MemoryLink):
        kind: LinkKind = "http"

    def annotated(name: str) -> Mapping[str, Any]:
        properties = {"region": {"type": "string", "x-mcp-header": name}}
        return {"tools": [{"name": "t", "inputSchema": {"type": "object", "properties": properties}}]}

    def check(sent: OutgoingRequest) -> Any:
        told = dict(sent.mirrored)
        return {"content": []} if "Mcp-Param-New" in told else JsonRpcFailure(-32020, "header missing")

    about: dict[str, Any] = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
    }
    link = Http({"server/discover": about, "tools/list": annotated("Old"), "tools/call": check})

    class GuardedChains(Tables):
        def __call__(self, spec: Any) -> Any:
            return [lambda: link]

    async with served(tmp_path, table("a"), ways=GuardedChains()) as (_, _, providers):
        link.answers["tools/list"] = annotated("New")
        one = provider(providers, "a")
        assert json.loads((await one.run(call(one, "t", region="r"))).result) == {"content": []}


@requirement("SESS-17", "SESS-18", "T-5.3")
async def test_a_result_that_is_no_result_is_an_error_with_the_servers_name(tmp_path: Path) -> None:
    async with served(tmp_path, child("a")) as (_, _, providers):
        one = provider(providers, "a")
        with pytest.raises(ExecutionFailed, match="a: the result is not an object"):
            await one.run(call(one, "raw", result=[1]))
    assert as_result(b'{"temperature":21.50}').content == [{"type": "text", "text": '{"temperature":21.50}'}]


# ── resources, prompts, completion ───────────────────────────────────────────────────────────────────────────────────


A = {"values": ["a!"], "total": 9}
CONTEXT = {"arguments": {"b": "c"}}
IN_CONTEXT = {"values": ["a!", '{"arguments": {"b": "c"}}'], "total": 9}


@requirement("RES-11")
async def test_what_was_chosen_before_reaches_the_servers_whose_revision_knows_of_it(tmp_path: Path) -> None:
    knowing = [child(version, "--version", version) for version in ("2025-06-18", "2025-11-25")]
    older = [child(version, "--version", version) for version in ("2024-11-05", "2025-03-26")]
    undeclared = child("first", "--version", "2024-11-05", "--no-capabilities")
    async with served(tmp_path, *knowing, *older, undeclared, child("new", "--era", "stateless")) as (*_, providers):
        for spec in (*knowing, child("new")):
            assert await completed(provider(providers, spec.name), context=CONTEXT) == IN_CONTEXT
        for spec in (*older, undeclared):
            assert await completed(provider(providers, spec.name), context=CONTEXT) == A


async def completed(one: ServerProvider, **context: Any) -> dict[str, Any]:
    ref, argument = {"type": "ref/prompt", "name": "greet"}, {"name": "who", "value": "a"}
    params = json.dumps({"ref": ref, "argument": argument, **context}).encode()
    told = await one.complete_after(Completing(ref, "who", "a", params=params))
    assert isinstance(told, ForeignCompletion)
    return json.loads(told.raw)["completion"]


@requirement("RES-11", "QUAL-03")
async def test_a_completion_that_asks_back_asks_nobody_and_ends_no_other_call(tmp_path: Path) -> None:
    """Questions are for calls and reads; this one would have gone to whoever calls the server just then."""
    about: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "completions": {}}}
    form: dict[str, Any] = {"mode": "form", "message": "Password?", "requestedSchema": {"type": "object"}}
    asks = {"resultType": "input_required", "inputRequests": {"k": {"method": "elicitation/create", "params": form}}}
    go = asyncio.Event()

    async def held(sent: OutgoingRequest) -> Any:
        await go.wait()
        return {"resultType": "complete", "content": [{"type": "text", "text": "held"}]}

    told: dict[str, Any] = {"server/discover": {"resultType": "complete", **about}, "tools/call": held}
    ways = Tables({"a": answers(**told, **{"completion/complete": asks})})
    async with served(tmp_path, table("a"), ways=ways) as (_, _, providers):
        one = provider(providers, "a")
        other = asyncio.create_task(one.run(replace(call(one, "one"), caller=ANSWERS_LATER)))
        await until(lambda: "tools/call" in ways.last("a").methods)
        with pytest.raises(ExecutionFailed, match="a: its answer to completion/complete is a question"):
            await one.complete_after(Completing({"type": "ref/prompt", "name": "p"}, "x", ""))
        go.set()
        assert text(await other) == "held"


@requirement("WIRE-23", "RES-01")
@pytest.mark.parametrize("broken", [ParseError("not UTF-8"), MessageTooLong("too long"), RequestTimeout("it", 5)])
async def test_a_server_that_breaks_while_it_is_read_is_named_and_blamed(broken: ClawftError, tmp_path: Path) -> None:
    """Its bytes were wrong, not those of the agent, who would read -32700 as its own mistake."""
    able: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
    listed: dict[str, Any] = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "table"}},
        "resources/list": {"resources": [{"uri": "t://a", "name": "a"}]},
    }
    reads = dict.fromkeys(("resources/read", "prompts/get", "completion/complete"), broken)
    async with served(tmp_path, table("a"), ways=Tables({"a": answers(**listed, **reads)})) as (_, _, providers):
        one = provider(providers, "a")
        for read in (
            one.read_resource_for(call(one, "t://a")),
            one.get_prompt(call(one, "p")),
            one.complete_after(Completing({"type": "ref/prompt", "name": "p"}, "x", "")),
        ):
            with pytest.raises(ExecutionFailed, match=f"^a: .*{broken.message}"):
                await read


@requirement("RES-01", "S2-P4-05", "S2-P4-14", "MGR-09", "S2-P4-13")
async def test_resources_prompts_and_completions_pass_whole(tmp_path: Path) -> None:
    async with served(tmp_path, child("a"), child("new", "--era", "stateless")) as (_, _, providers):
        for name in ("a", "new"):
            one = provider(providers, name)
            assert [json.loads(each.raw) for each in one.list_resources()] == [
                {"uri": "honest://note", "name": "note", "x-vendor": 1.5}
            ]
            assert [each.uri_template for each in one.list_templates()] == ["honest://page/{n}"]
            read = await one.read_resource("honest://page/1")
            assert read is not None
            assert json.loads(read) == {"contents": [{"uri": "honest://page/1", "text": "read"}], "x-vendor": 1}
            assert await one.read_resource("honest://page/0") is None
            assert await one.read_resource("other://x") is None
            got = await one.get_prompt(call(one, "greet", who="ada"))
            assert json.loads(got)["messages"][0]["content"]["text"] == '{"who": "ada"}'
            assert await completed(one) == A
            other = {"type": "ref/resource", "uri": "other://{x}"}
            assert await one.complete_after(Completing(other, "x", "a")) == Completion(())


@requirement("RES-11", "POOL-03")
@pytest.mark.parametrize(("able", "values"), [({"completions": {}}, ["at last"]), ({}, [])], ids=["able", "not able"])
async def test_a_server_that_gave_way_completes_as_it_did_before(
    able: dict[str, Any], values: list[str], tmp_path: Path
) -> None:
    told: dict[str, Any] = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, **able}, "serverInfo": {}},
        "completion/complete": {"completion": {"values": ["at last"]}},
    }
    ways = Tables({"a": answers("one", **told), "b": answers("two")})
    async with served(tmp_path, table("a"), ways=ways, max_connections=1) as (mine, _, providers):
        await mine.connect(table("b"))
        assert mine.find("a").session is None
        found = await provider(providers, "a").complete_after(Completing({"type": "ref/prompt", "name": "p"}, "x", ""))
        assert list(found.values) == values


@requirement("RES-01")
async def test_a_prompt_that_is_refused_is_the_callers_mistake(tmp_path: Path) -> None:
    ways = Tables({"a": answers(**{"prompts/get": JsonRpcFailure(-32602, "who is missing")})})
    async with served(tmp_path, table("a"), ways=ways) as (_, _, providers):
        one = provider(providers, "a")
        with pytest.raises(JsonRpcFailure, match="who is missing") as refused:
            await one.get_prompt(call(one, "greet"))
        assert refused.value.error_code == -32602


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_numbers = st.sampled_from(["0", "-0", "1.50", "1e400", "12345678901234567890123", "-1.0E+2"])
_json = st.recursive(
    st.one_of(st.just("null"), st.sampled_from(["true", "false"]), _numbers, st.text(max_size=8).map(json.dumps)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(st.text(max_size=4).map(json.dumps), inner, max_size=3).map(
            lambda members: "{" + ",".join(f"{key} :{value}" for key, value in members.items()) + "}"
        ),
    ),
    max_leaves=8,
)
_HOP = {"resultType", "_meta"}
_NOTHING_SAID = [("structuredContent", "null")]
_members = st.dictionaries(
    st.one_of(
        st.sampled_from(["content", "structuredContent", "isError", "ttlMs", "x-new"]), st.text(max_size=6)
    ).filter(lambda key: key not in _HOP),
    _json,
    max_size=6,
)


def _pairs(text: bytes) -> list[tuple[str, Any]]:
    """Order, spelling of numbers and all."""
    return json.loads(text, object_pairs_hook=list, parse_int=str, parse_float=str)


@requirement("PROV-16")
@given(_members, st.booleans())
def test_any_result_passes_with_its_members_order_and_numbers(members: dict[str, str], stateless: bool) -> None:
    members = {key: value for key, value in members.items() if (key, value) not in _NOTHING_SAID}
    members = {**members, "content": "[]", "isError": "true" if "isError" in members else "false"}
    inner = [f"{json.dumps(key)}: {value}" for key, value in members.items()]
    plain = "{" + ", ".join(inner) + "}"
    sent = "{" + ", ".join(['"resultType":"complete"', *inner]) + "}" if stateless else plain
    reply = relay.reply_of(sent.encode(), stateless=stateless)
    assert _pairs(reply.result) == _pairs(plain.encode())
    assert reply.is_error == (members.get("isError") == "true")


@requirement("PROV-16")
def test_only_the_keys_of_the_hop_leave_the_meta() -> None:
    sent = b'{"_meta":{"io.modelcontextprotocol/serverInfo":{},"vendor/x":1.50},"resultType":"complete","content":[]}'
    assert relay.reply_of(sent, stateless=True).result == b'{"_meta":{"vendor/x":1.50},"content":[]}'
    assert relay.reply_of(b'{"_meta":7}', stateless=True).result == b'{"content":[]}'
    for odd in (b'{"resultType":"other"}', b'{"resultType":["x"]}', b"7"):
        with pytest.raises(ProtocolFailure):
            relay.reply_of(odd, stateless=True)
    assert relay.reply_of(b'{"resultType":"input_required"}', stateless=True).kind is Kind.INPUT_REQUIRED
    assert relay.reply_of(b'{"resultType":"task"}', stateless=True).kind is Kind.TASK


NEIGHBOURS = ("protocolVersion", "clientInfo", "clientCapabilities", "logLevel", "serverInfo", "subscriptionId")
"""Protocol, section 22.1, no. 6: what stands in `_meta` for one hop only."""


@requirement("PROV-16")
@pytest.mark.parametrize("key", NEIGHBOURS)
@pytest.mark.parametrize("slash", ["/", r"\/"], ids=["plain", "escaped"])
@pytest.mark.parametrize("stateless", [False, True])
def test_what_is_for_the_neighbour_goes_no_further_in_either_era(key: str, slash: str, *, stateless: bool) -> None:
    meta = f'"_meta":{{"io.modelcontextprotocol{slash}{key}":{{"name":"behind"}},"vendor/x":1.50}}'
    content = '"content":[{"type":"text","text":"io.modelcontextprotocol/serverInfo"}]'
    told = relay.reply_of(f"{{{content},{meta}}}".encode(), stateless=stateless).result
    assert told == f'{{{content},"_meta":{{"vendor/x":1.50}}}}'.encode()
    for method, members in (("prompts/get", '"messages":[]'), ("resources/read", '"contents":[]')):
        told = relay.answer_of(method, f"{{{members},{meta}}}".encode(), stateless=stateless)
        assert told == f'{{{members},"_meta":{{"vendor/x":1.50}}}}'.encode()


@requirement("PROV-16")
def test_a_result_of_a_handshake_server_that_only_speaks_of_such_keys_stays_as_it_came() -> None:
    sent = b'{"content":[{"type" : "text","text":"io.modelcontextprotocol/serverInfo"}], "_meta":{"vendor/x" :1.50}}'
    assert relay.reply_of(sent, stateless=False).result == sent


@requirement("PROV-16", "QUAL-03")
def test_a_result_always_has_its_list_of_content() -> None:
    assert relay.with_blocks(b'{"content" : [ {"type":"text","text":"x"}]}').startswith(b'{"content" : [')
    assert relay.with_blocks(b'{"isError":true,"content":[]}') == b'{"isError":true,"content":[]}'
    assert relay.with_blocks(b'{"structuredContent":{"a":1.50}}') == b'{"structuredContent":{"a":1.50},"content":[]}'
    assert relay.with_blocks(b'{"content":null,"a":1}') == b'{"content":[],"a":1}'
    assert relay.with_blocks(b'{"task":{}}') == b'{"task":{},"content":[]}'
    for odd in (b'{"content":7}', b'{"content":[7]}', b'{"content":{}}', b'{"content":[{}]}'):
        with pytest.raises(ProtocolFailure, match="its content is malformed"):
            relay.with_blocks(odd)


@requirement("QUAL-12")
@pytest.mark.parametrize("stateless", [False, True])
def test_blocks_have_a_bound_however_short_they_are(stateless: bool) -> None:
    def reply_of(count: int) -> Reply:
        listed = b",".join([b'{"type":"text","text":"a"}'] * count)
        return relay.reply_of(b'{"content":[%b],"resultType":"complete"}' % listed, stateless=stateless)

    assert reply_of(relay.MAX_BLOCKS).kind is Kind.COMPLETE
    with pytest.raises(ProtocolFailure, match="its content has 10001 blocks; 10000 at most are read"):
        reply_of(relay.MAX_BLOCKS + 1)


HELLO = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "table"}}


@requirement("QUAL-12")
async def test_who_is_told_no_is_not_kept(tmp_path: Path) -> None:
    """One refusal is said to everybody: it must not remember to whom."""
    able: dict[str, Any] = {**HELLO, "capabilities": {"tools": {}, "resources": {}}}
    listed: dict[str, Any] = {"resources": [{"uri": "t://a", "name": "a"}]}
    ways = Tables({"t": answers(**{"initialize": able, "resources/list": listed})})
    async with served(tmp_path, table("t"), ways=ways) as (_, _, providers):
        one = provider(providers, "t")
        lengths: list[int] = []
        for _ in range(3):
            with pytest.raises(JsonRpcFailure, match="does not report changes") as told:
                await one.watch_resource("t://a", Caller(), lambda uri, more: None)
            lengths.append(len(told.traceback))
        assert len(set(lengths)) == 1


@requirement("QUAL-02", "RES-01")
async def test_a_server_that_refuses_to_be_watched_does_not_tell_its_key(tmp_path: Path) -> None:
    keep_concealed("sesame-of-watch")
    able: dict[str, Any] = {**HELLO, "capabilities": {"tools": {}, "resources": {"subscribe": True}}}
    listed: dict[str, Any] = {"resources": [{"uri": "t://a", "name": "a"}]}
    no = JsonRpcFailure(-32000, "not with sesame-of-watch")
    told: dict[str, Any] = {"initialize": able, "resources/list": listed, "resources/subscribe": no}
    async with served(tmp_path, table("t"), ways=Tables({"t": answers(**told)})) as (_, _, providers):
        with pytest.raises(JsonRpcFailure, match="not with ") as refused:
            await provider(providers, "t").watch_resource("t://a", Caller(), lambda uri, more: None)
        assert "sesame" not in str(refused.value)


def deaf_server(era: str) -> Tables:
    """One that never says whether it will tell of its resource."""

    async def never(_: OutgoingRequest) -> Any:
        return await asyncio.Future()

    able: dict[str, Any] = {"tools": {}, "resources": {"subscribe": True}}
    hints: dict[str, Any] = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"}
    listed: dict[str, Any] = {
        "resources/list": {**hints, "resources": [{"uri": "t://a", "name": "a"}, {"uri": "t://b", "name": "b"}]},
        "resources/templates/list": {**hints, "resourceTemplates": []},
    }
    if era == "handshake":
        return Tables(
            {"t": answers(**{"initialize": {**HELLO, "capabilities": able}, "resources/subscribe": never}, **listed)}
        )
    hello: dict[str, Any] = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": able}
    tools: dict[str, Any] = {**hints, "tools": []}
    return Tables({"t": {"server/discover": hello, "subscriptions/listen": never, "tools/list": tools, **listed}})


@requirement("RES-06")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_who_watches_a_resource_at_a_server_that_takes_no_note_hears_so(
    era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.upstream.interest.listen.ACKNOWLEDGE_SECONDS", 0.05)
    few = asyncio.timeout(4)
    async with served(tmp_path, table("t", timeout_ms=200), ways=deaf_server(era)) as (mine, _, providers), few:
        one = provider(providers, "t")
        for uri in ("t://a", "t://b"):  # and the second does not wait for it
            with pytest.raises(ClawftError, match=r"t: it did not confirm the subscription to t://[ab]"):
                await one.watch_resource(uri, Caller(), lambda uri, more: None)
        assert not mine.find("t").interest.resources


@requirement("RES-06")
async def test_who_watches_waits_as_long_as_for_a_call_though_somebody_had_less_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.provider.server.server_provider.TELL_SECONDS", 0.01)
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slow(_: OutgoingRequest) -> dict[str, Any]:
        asked.set()
        await answer.wait()
        return {}

    able: dict[str, Any] = {**HELLO, "capabilities": {"tools": {}, "resources": {"subscribe": True}}}
    listed: dict[str, Any] = {"resources": [{"uri": "t://a", "name": "a"}, {"uri": "t://b", "name": "b"}]}
    told: dict[str, Any] = {"initialize": able, "resources/list": listed, "resources/subscribe": slow}
    async with served(tmp_path, table("t"), ways=Tables({"t": answers(**told)})) as (_, _, providers):
        one = provider(providers, "t")
        first = asyncio.create_task(one.watch_resource("t://a", Caller(), lambda uri, more: None))
        await asked.wait()
        await one.set_log_level("debug")  # goes on before the server has said anything
        second = asyncio.create_task(one.watch_resource("t://b", Caller(), lambda uri, more: None))
        await asyncio.sleep(0)
        answer.set()
        assert all(await asyncio.gather(first, second))


@requirement("RES-01")
async def test_what_changes_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    """The news may overtake the answer, which is then older than they are."""
    able: dict[str, Any] = {"resources": {}}
    hello: dict[str, Any] = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": able}
    hints: dict[str, Any] = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"}
    reads = 0

    def read(_: OutgoingRequest) -> dict[str, Any]:
        nonlocal reads
        reads += 1
        if reads == 1:
            ways.last("t").say("notifications/resources/updated", {"uri": "t://a"})
        return {**hints, "contents": [{"uri": "t://a", "text": f"read {reads}"}]}

    listed: dict[str, Any] = {**hints, "resources": [{"uri": "t://a", "name": "a"}]}
    no_templates: dict[str, Any] = {**hints, "resourceTemplates": []}
    lists = {"resources/list": listed, "resources/templates/list": no_templates}
    ways = Tables({"t": {"server/discover": hello, "resources/read": read, **lists}})
    async with served(tmp_path, table("t"), ways=ways) as (_, _, providers):
        one = provider(providers, "t")
        told = [await one.read_resource("t://a") or b"" for _ in range(3)]
        ways.last("t").say("notifications/resources/updated", {"uri": "t://a"})  # or it would be kept for other tests
        assert [b"read 1" in told[0], b"read 2" in told[1], b"read 2" in told[2]] == [True, True, True]


# ── crashes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def kill(mine: Pool, name: str) -> None:
    pid = mine.server_status(name).pid
    if pid is not None:
        os.kill(pid, signal.SIGKILL)


@requirement("POOL-24", "LINK-08", "POOL-13")
async def test_a_kill_in_the_middle_of_64_calls_gives_each_one_answer_and_the_child_comes_back(tmp_path: Path) -> None:
    async with served(tmp_path, child("a")) as (mine, _, providers):
        one = provider(providers, "a")
        first = mine.server_status("a").pid
        names = ["echo", "safe"]
        running = [
            asyncio.ensure_future(one.run(call(one, names[n % 2], token=str(n), seconds=0.5))) for n in range(64)
        ]
        await until(lambda: mine.find("a").gate.running == 64)
        await asyncio.sleep(0.1)
        kill(mine, "a")
        done = await asyncio.gather(*running, return_exceptions=True)
        for n, each in enumerate(done):
            if n % 2:
                assert isinstance(each, Reply)
                assert text(each) == str(n)
            else:
                assert isinstance(each, ExecutionFailed)
        assert text(await one.run(call(one, "echo", token="back"))) == "back"
        assert mine.server_status("a").pid not in (first, None)
        assert mine.find("a").gate.running == 0


@pytest.mark.slow
@requirement("POOL-24", "SESS-15")
async def test_two_thousand_calls_under_random_kills_are_never_answered_twice_or_crosswise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff.Backoff, "next_wait", lambda self, now: 0.01)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  # never gives up
    dice = random.Random(7)
    answered: list[str] = []
    lost = 0
    async with served(tmp_path, child("a")) as (mine, _, providers):
        one = provider(providers, "a")

        async def caller(number: int) -> None:
            nonlocal lost
            for turn in range(50):
                token = f"{number}-{turn}"
                try:
                    reply = await one.run(call(one, dice.choice(["echo", "safe"]), token=token))
                except ToolError:
                    lost += 1
                else:
                    assert text(reply) == token
                    answered.append(token)

        async def killer() -> None:
            while True:
                await asyncio.sleep(dice.uniform(0.01, 0.2))
                kill(mine, "a")

        killing = asyncio.ensure_future(killer())
        await asyncio.gather(*(caller(number) for number in range(40)))
        killing.cancel()
        assert len(answered) + lost == 2000
        assert len({*answered}) == len(answered)
        assert lost  # else nothing was killed in the middle of anything


@requirement("QUAL-03")
@pytest.mark.parametrize("settings", [b'{"zoom":1}', b'{"a":' * 300 + b"1" + b"}" * 300])
async def test_extensions_that_no_client_could_read_are_not_told(tmp_path: Path, settings: bytes) -> None:
    """They would stand in the first answer that every client gets."""
    told = {"org.example/maps": json.loads(settings)}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"extensions": told}, "serverInfo": {"name": "table"}}
    async with served(tmp_path, table("a"), ways=Tables({"a": answers(initialize=hello)})) as (_, _, providers):
        assert provider(providers, "a").extensions == ({} if len(settings) > 100 else told)

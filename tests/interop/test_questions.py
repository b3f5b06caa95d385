"""A server asks, the agent answers: every kind of question, in every pair of eras, over both transports."""

import asyncio
import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from tests.matrix.cells import Era, Transport
from tests.matrix.houses import OPTIONS, Houses
from tests.requirements import requirement
from tests.servers.bridge import Person, behind, connected, houses_of_the_curious, pairs, text_of
from tests.servers.pipe import Json, Pipe, line, mcp_server, modern_meta, notification
from tests.servers.raw_http import ask, connect, modern, modern_call
from tests.servers.weft import Served, gateway

pytestmark = pytest.mark.slow

META = "io.modelcontextprotocol/"


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Generator[Houses]:
    with houses_of_the_curious(tmp_path_factory.mktemp("houses")) as made:
        yield made


@requirement("RES-10", "SESS-21")
@pairs("elicitation form")
async def test_a_form_reaches_the_person_and_what_they_wrote_goes_back(
    houses: Houses, tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    person = Person()
    async with connected(houses, tmp_path, agent, server, transport, **person.callbacks) as client:
        result = await client.call_tool("form", {"token": "t1"})
        twice = await client.call_tool("twice", {"token": "t2"})
    assert text_of(result) == 't1: {"action": "accept", "content": {"name": "<curious asks: Name for t1?>"}}'
    assert "<curious asks: First for t2?>" in text_of(twice)
    assert "<curious asks: Second for t2?>" in text_of(twice)
    first = person.asked[0]
    assert isinstance(first, types.ElicitRequestFormParams)
    assert first.requested_schema["properties"]["name"] == {"type": "string", "title": "Your name", "default": "nobody"}


@requirement("RES-10")
@pairs("elicitation form, declined")
async def test_a_person_may_decline(
    houses: Houses, tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    person = Person("decline")
    async with connected(houses, tmp_path, agent, server, transport, **person.callbacks) as client:
        assert text_of(await client.call_tool("form", {"token": "t"})) == 't: {"action": "decline"}'


@requirement("RES-10")
@pairs("elicitation url")
async def test_an_address_reaches_the_person_and_their_consent_goes_back(
    houses: Houses, tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    person = Person()
    async with connected(houses, tmp_path, agent, server, transport, **person.callbacks) as client:
        assert text_of(await client.call_tool("url", {"token": "t"})) == 't: {"action": "accept"}'
    (asked,) = person.asked
    assert isinstance(asked, types.ElicitRequestURLParams)
    assert (asked.url, asked.message) == ("https://x.example/t", "curious asks: AuthorizedRequest for t")


@requirement("RES-08", "SESS-21")
@pairs("sampling")
async def test_the_agents_model_completes_for_the_server(
    houses: Houses, tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    person = Person()
    async with connected(houses, tmp_path, agent, server, transport, **person.callbacks) as client:
        said = text_of(await client.call_tool("sample", {"token": "t"}))
        together = text_of(await client.call_tool("both", {"token": "u"}))
    assert '"text": "<Complete t>"' in said
    assert "<curious asks: Name for u?>" in together
    assert "<Complete u>" in together
    assert person.sampled[0].max_tokens == 10


@requirement("RES-09", "SESS-21")
@pairs("roots")
async def test_the_server_hears_of_the_agents_own_folders(
    houses: Houses, tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    async with connected(houses, tmp_path, agent, server, transport, **Person().callbacks) as client:
        assert '"uri": "file:///agent/home"' in text_of(await client.call_tool("roots", {"token": "t"}))


@requirement("RES-09")
@pairs("roots of the workspace")
async def test_where_the_agent_has_no_folders_the_workspace_is_told(
    houses: Houses, tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    async with connected(houses, tmp_path, agent, server, transport) as client:
        workspace = houses.workspace(server) if transport == "http" else tmp_path
        assert workspace.as_uri() in text_of(await client.call_tool("roots", {"token": "t"}))


@requirement("RES-10", "RES-08", "SESS-21", "SEC-A03")
@pairs("question to an agent that cannot answer", outcome="refused")
async def test_an_agent_that_cannot_answer_hears_why(
    houses: Houses, tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    async with connected(houses, tmp_path, agent, server, transport) as client:
        for tool in ("form", "sample", "url"):
            said = text_of(await client.call_tool(tool, {"token": "t"}))
            assert "the calling agent has not declared that it can answer" in said, said
            if tool == "url" and server == "stateless":
                assert "open https://x.example/t in a browser, then call again" in said
        assert text_of(await client.call_tool("echo", {"token": "on we go"})) == "on we go"


@requirement("RES-08")
@pytest.mark.parametrize("meta", [None, {"sampling": {}}])
async def test_what_the_configuration_keeps_from_a_server_is_not_the_agents_fault(
    tmp_path: Path, meta: Json | None
) -> None:
    """An agent of either era that can do what the server needs and may not ask for."""
    with behind(tmp_path, "stateless", "stdio", asks=["elicitation"]) as file:
        async with mcp_server(tmp_path, *OPTIONS, "--mcp-config", file) as pipe:
            if meta is None:
                await pipe.open(sampling={})
            params = {} if meta is None else {"_meta": modern_meta(**{f"{META}clientCapabilities": meta})}
            while len((await pipe.ask("tools/list", params))["result"]["tools"]) < 4:
                pass
            answer = await pipe.ask("tools/call", {"name": "needs_sampling", "arguments": {}, **params})
            assert answer["result"]["isError"] is True
            said = answer["result"]["content"][0]["text"]
            assert said == "curious: no; the configuration does not let curious ask for sampling (weft servers list)"


@requirement("RES-10")
@pairs("elicitation in prompts/get and resources/read")
async def test_prompts_and_resources_may_ask_too(
    houses: Houses, tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    async with connected(houses, tmp_path, agent, server, transport, **Person().callbacks) as client:
        prompt = await client.get_prompt("introduce", {"token": "p"})
        assert "<curious asks: Name for p?>" in str(prompt.messages[0].content)
        (content,) = (await client.read_resource("curious://card")).contents
        assert isinstance(content, types.TextResourceContents)
        assert "<curious asks: Name for card?>" in content.text


@requirement("RES-10", "RES-08")
@pairs("64 questions at once")
async def test_each_of_64_calls_gets_the_answer_to_its_own_question(
    houses: Houses, tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    async with connected(houses, tmp_path, agent, server, transport, **Person().callbacks) as client:
        tokens = [f"t{number}" for number in range(64)]
        results = await asyncio.gather(*(client.call_tool("form", {"token": token}) for token in tokens))
    for token, result in zip(tokens, results, strict=True):
        name = json.loads(text_of(result).partition(": ")[2])["content"]["name"]
        assert (text_of(result).partition(":")[0], name) == (token, f"<curious asks: Name for {token}?>")


@requirement("RES-10")
async def test_a_prompt_may_send_the_person_somewhere_first(tmp_path: Path) -> None:
    """The error of 2025-11-25: passed on where it is known, a question where it is not; then it is asked for again."""
    place = "https://x.example/t"
    with behind(tmp_path, "handshake", "stdio") as file:
        async with mcp_server(tmp_path, *OPTIONS, "--mcp-config", file) as pipe:
            await pipe.open(elicitation={"url": {}})
            await _until_listed(pipe, {})
            asked = {"name": "log_in", "arguments": {"token": "t"}}
            refused = (await pipe.ask("prompts/get", asked))["error"]
            assert (refused["code"], refused["data"]["elicitations"][0]["url"]) == (-32042, place)
            assert "t is logged in" in str((await pipe.ask("prompts/get", asked))["result"])
        async with mcp_server(tmp_path, *OPTIONS, "--mcp-config", file) as pipe:
            meta = {"_meta": modern_meta(**{f"{META}clientCapabilities": {"elicitation": {"url": {}}}})}
            await _until_listed(pipe, meta)
            wanted = (await pipe.ask("prompts/get", {**asked, **meta}))["result"]
            ((key, question),) = wanted["inputRequests"].items()
            assert question["params"]["url"] == place
            for action, said in (("decline", "declined"), ("accept", "t is logged in")):
                answers = {"requestState": wanted["requestState"], "inputResponses": {key: {"action": action}}}
                assert said in str(await pipe.ask("prompts/get", {**asked, **answers, **meta}))


async def _until_listed(pipe: Pipe, params: Json) -> None:
    while len((await pipe.ask("prompts/list", params))["result"]["prompts"]) < 2:
        pass


# ── from outside, byte by byte ───────────────────────────────────────────────────────────────────────────────────────


@requirement("RES-09")
async def test_the_agents_folders_and_their_changes_reach_a_server_that_asks_outside_any_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()  # Landlock lets nobody make a file that is not there yet
    with behind(tmp_path, "handshake", "stdio", "--log", str(log)) as file:
        async with mcp_server(tmp_path, "--no-builtin", "--mcp-config", file) as pipe:
            await _until(lambda: log.exists() and "resources/templates/list" in log.read_text())
            await pipe.open(roots={"listChanged": True})
            for uri in ("file:///first", "file:///second"):
                await _give_roots(pipe, uri)
                await _until(lambda uri=uri: uri in log.read_text())
                await pipe.send(notification("notifications/roots/list_changed"))
            await _give_roots(pipe, "file:///third")


async def _give_roots(pipe: Pipe, uri: str) -> None:
    while (asked := await pipe.read()).get("method") != "roots/list":
        continue
    await pipe.send(line({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": uri}]}}))


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - a file of another process has no event
            await asyncio.sleep(0.01)


@requirement("RES-10")
async def test_a_question_expires_as_configured_and_the_server_is_free_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[gateway]\nquestion_seconds = 1\n")
    can: Any = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    with (
        behind(tmp_path, "handshake", "http", "--log", str(log)) as file,
        gateway(tmp_path, "--no-auth", *OPTIONS, "--mcp-config", file) as served,
    ):
        await _until(lambda: log.exists() and "tools/list" in log.read_text())
        asked = await _asked(served, can)
        state, (key,) = asked["requestState"], asked["inputRequests"]
        await _until(lambda: "notifications/cancelled" in log.read_text())
        told = {
            "name": "form",
            "arguments": {"token": "t"},
            "requestState": state,
            "inputResponses": {key: {"action": "decline"}},
        }
        late = await ask(served.port, modern(served.port, 2, "tools/call", told, **can))
        assert (late.status, late.code) == (400, -32602)


async def _asked(served: Served, can: Any) -> Json:
    """The question; the server's tools may take a moment to be there."""
    while True:
        answer = await ask(served.port, modern_call(served.port, 1, "form", {"token": "t"}, **can))
        if answer.status == 200:
            return answer.json()["result"]


@requirement("RES-10", "SESS-14")
@pytest.mark.matrix(
    kind="leaving while a question waits", agent="stateless", server="handshake", transport="http", outcome="carried"
)
async def test_leaving_cancels_a_stateless_call_that_has_come_back(tmp_path: Path) -> None:
    log = tmp_path / "log"
    can: Any = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    with (
        behind(tmp_path, "handshake", "http", "--log", str(log)) as file,
        gateway(tmp_path, "--no-auth", *OPTIONS, "--mcp-config", file) as served,
    ):
        await _asked(served, can)
        first = modern_call(served.port, 1, "give_up", {"token": "t"}, **can)
        asked = (await ask(served.port, first)).json()["result"]
        told = {
            "name": "give_up",
            "arguments": {"token": "t"},
            "requestState": asked["requestState"],
            "inputResponses": {key: {"action": "decline"} for key in asked["inputRequests"]},
        }
        async with connect(served.port) as line:
            await line.send(modern(served.port, 2, "tools/call", told, **can))
            await _until(lambda: '"action": "decline"' in log.read_text())
        await _until(lambda: "notifications/cancelled" in log.read_text())

"""A server asks, the agent answers: every kind of question, in every pair of eras, over both transports."""

import asyncio
import json
from pathlib import Path

import mcp_types as types
import pytest

from tests.requirements import requirement
from tests.servers.bridge import Era, Person, Transport, connected, pairs, text_of

pytestmark = pytest.mark.slow


@requirement("RES-10", "SESS-21")
@pairs("elicitation form")
async def test_a_form_reaches_the_person_and_what_they_wrote_goes_back(
    tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    person = Person()
    async with connected(tmp_path, agent, server, transport, **person.callbacks) as client:
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
async def test_a_person_may_decline(tmp_path: Path, agent: Era, server: Era, transport: Transport) -> None:
    person = Person("decline")
    async with connected(tmp_path, agent, server, transport, **person.callbacks) as client:
        assert text_of(await client.call_tool("form", {"token": "t"})) == 't: {"action": "decline"}'


@requirement("RES-10")
@pairs("elicitation url")
async def test_an_address_reaches_the_person_and_their_consent_goes_back(
    tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    person = Person()
    async with connected(tmp_path, agent, server, transport, **person.callbacks) as client:
        assert text_of(await client.call_tool("url", {"token": "t"})) == 't: {"action": "accept"}'
    (asked,) = person.asked
    assert isinstance(asked, types.ElicitRequestURLParams)
    assert (asked.url, asked.message) == ("https://x.example/t", "curious asks: Visit for t")


@requirement("RES-08", "SESS-21")
@pairs("sampling")
async def test_the_agents_model_completes_for_the_server(
    tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    person = Person()
    async with connected(tmp_path, agent, server, transport, **person.callbacks) as client:
        said = text_of(await client.call_tool("sample", {"token": "t"}))
        together = text_of(await client.call_tool("both", {"token": "u"}))
    assert '"text": "<Complete t>"' in said
    assert "<curious asks: Name for u?>" in together
    assert "<Complete u>" in together
    assert person.sampled[0].max_tokens == 10


@requirement("RES-09", "SESS-21")
@pairs("roots")
async def test_the_server_hears_of_the_agents_own_folders(
    tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    async with connected(tmp_path, agent, server, transport, **Person().callbacks) as client:
        assert '"uri": "file:///agent/home"' in text_of(await client.call_tool("roots", {"token": "t"}))


@requirement("RES-09")
@pairs("roots of the workspace")
async def test_where_the_agent_has_no_folders_the_workspace_is_told(
    tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    async with connected(tmp_path, agent, server, transport) as client:
        assert tmp_path.as_uri() in text_of(await client.call_tool("roots", {"token": "t"}))


@requirement("RES-10", "RES-08", "SESS-21", "SEC-A03")
@pairs("question to an agent that cannot answer", outcome="refused")
async def test_an_agent_that_cannot_answer_hears_why(
    tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    async with connected(tmp_path, agent, server, transport) as client:
        for tool in ("form", "sample", "url"):
            said = text_of(await client.call_tool(tool, {"token": "t"}))
            assert "the calling agent has not declared that it can answer" in said, said
        assert text_of(await client.call_tool("echo", {"token": "on we go"})) == "on we go"


@requirement("RES-10")
@pairs("elicitation in prompts/get and resources/read")
async def test_prompts_and_resources_may_ask_too(tmp_path: Path, agent: Era, server: Era, transport: Transport) -> None:
    async with connected(tmp_path, agent, server, transport, **Person().callbacks) as client:
        prompt = await client.get_prompt("introduce", {"token": "p"})
        assert "<curious asks: Name for p?>" in str(prompt.messages[0].content)
        (content,) = (await client.read_resource("curious://card")).contents
        assert isinstance(content, types.TextResourceContents)
        assert "<curious asks: Name for card?>" in content.text


@requirement("RES-10", "RES-08")
@pairs("64 questions at once")
async def test_each_of_64_calls_gets_the_answer_to_its_own_question(
    tmp_path: Path, agent: Era, server: Era, transport: Transport
) -> None:
    async with connected(tmp_path, agent, server, transport, **Person().callbacks) as client:
        tokens = [f"t{number}" for number in range(64)]
        results = await asyncio.gather(*(client.call_tool("form", {"token": token}) for token in tokens))
    for token, result in zip(tokens, results, strict=True):
        name = json.loads(text_of(result).partition(": ")[2])["content"]["name"]
        assert (text_of(result).partition(":")[0], name) == (token, f"<curious asks: Name for {token}?>")

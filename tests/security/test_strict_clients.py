"""Servers whose every word is wrong once, and clients that check every word: the official ones."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError

from tests import peers
from tests.requirements import requirement
from tests.servers import mutant
from tests.servers.weft import MCP_SERVER, environment, gateway

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
SERVERS = Path(mutant.__file__).parent
SCRIPT = Path(__file__).parent / "strict_client.mjs"
MODES = ["legacy", "2026-07-28"]
ERAS = ["handshake", "stateless"]
EACH_PAIR = pytest.mark.parametrize(("mode", "era"), [(mode, era) for mode in MODES for era in ERAS])


def options(era: str) -> list[str]:
    """Of a weft with an honest server and a mutant."""
    servers = {
        "honest": {"command": sys.executable, "args": [str(SERVERS / "tiny.py"), "--title", "honest"]},
        "mutant": {"command": sys.executable, "args": [str(SERVERS / "mutant.py"), era]},
    }
    return ["--no-builtin", "--mcp-config", json.dumps({"mcpServers": servers})]


class Asked:
    """Whoever is asked, and says yes to everything."""

    def __init__(self) -> None:
        self.questions: list[Any] = []

    async def fill_in(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.questions.append(params)
        return types.ElicitResult(action="accept", content={"name": "ada"})

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        self.questions.append(params)
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="said"), model="m"
        )


@asynccontextmanager
async def connected(folder: Path, mode: str, era: str, asked: Asked | None = None) -> AsyncGenerator[Client]:
    asked = asked or Asked()
    command = StdioServerParameters(
        command=MCP_SERVER[0], args=[*MCP_SERVER[1:], *options(era)], env=environment(folder), cwd=folder
    )
    async with (
        asyncio.timeout(PATIENCE_S),
        Client(command, mode=mode, elicitation_callback=asked.fill_in, sampling_callback=asked.sample) as client,
    ):
        await until_listed(client, "mutant__say")
        yield client


async def until_listed(client: Client, name: str) -> None:
    while name not in {tool.name for tool in (await client.list_tools()).tools}:  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.05)


@requirement("SESS-09", "QUAL-03")
@EACH_PAIR
async def test_every_list_can_be_read_and_the_honest_server_answers(tmp_path: Path, mode: str, era: str) -> None:
    async with connected(tmp_path, mode, era) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"honest__echo", "mutant__say", "mutant__m0", "mutant__loose"} <= tools
        assert len((await client.list_resources()).resources) > 1
        assert len((await client.list_resource_templates()).resource_templates) > 1
        assert len((await client.list_prompts()).prompts) > 1
        said = await client.call_tool("honest__echo", {"text": "x"})
        assert said.content == [types.TextContent(type="text", text="honest: x")]


@requirement("SESS-09", "QUAL-03")
@pytest.mark.parametrize(("sdk", "mode"), [("1", "legacy"), ("2", "legacy"), ("2", "2026-07-28")])
@pytest.mark.parametrize("era", ERAS)
def test_so_they_can_by_the_typescript_clients(tmp_path: Path, sdk: str, mode: str, era: str) -> None:
    """The older one compiles what all tools promise while it lists them."""
    command = [*MCP_SERVER, *options(era)]
    ran = subprocess.run(
        [str(peers.node()), str(SCRIPT), str(peers.PACKAGES), sdk, mode, *command],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    seen = json.loads(ran.stdout)
    assert {"honest__echo", "mutant__say", "mutant__m0", "mutant__loose"} <= set(seen["tools"])
    assert seen["said"] == "honest: x"


@requirement("QUAL-03")
def test_the_official_types_refuse_whole_lists_for_one_of_these() -> None:
    """So that the tests above can fail."""
    kinds = {"tools": types.Tool, "resources": types.Resource, "prompts": types.Prompt}
    for member, kind in kinds.items():
        refused = 0
        for one in mutant.mutations(mutant.WHOLE[member]):
            try:
                kind.model_validate(one)
            except ValidationError:
                refused += 1
        assert refused > 100


FORM: Any = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ELICITATION: Any = {"message": "m", "requestedSchema": FORM}
SAMPLING: Any = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}],
    "maxTokens": 5,
    "stopSequences": ["x"],
    "includeContext": "none",
    "modelPreferences": {"hints": [{"name": "x"}], "costPriority": 0.5},
}
QUESTIONS = {"elicitation/create": ELICITATION, "sampling/createMessage": SAMPLING}


@requirement("SESS-09", "QUAL-03")
@EACH_PAIR
async def test_whoever_is_asked_sees_well_formed_questions_only(tmp_path: Path, mode: str, era: str) -> None:
    asked = Asked()
    async with connected(tmp_path, mode, era, asked) as client:
        for method, whole in QUESTIONS.items():
            good = await client.call_tool("mutant__ask", {"method": method, "params": whole})
            assert len(asked.questions) == 1
            assert not good.is_error
            for at in mutant.paths(whole):
                for junk in mutant.JUNK:
                    params = mutant.changed(whole, at, junk)
                    told = await client.call_tool("mutant__ask", {"method": method, "params": params})
                    assert isinstance(told.content[0], types.TextContent)
            asked.questions.clear()


AT_ONCE, IN_ALL = 2, 600


@requirement("SESS-21", "QUAL-03")
async def test_no_question_is_lost_with_the_answer_of_another_call(tmp_path: Path) -> None:
    """Over a pipe nobody says whose question it is: it may go to a call that is answered at that very moment."""
    asked = Asked()
    with gateway(tmp_path, "--no-auth", *options("handshake")) as served:
        async with (
            asyncio.timeout(PATIENCE_S),
            httpx2.AsyncClient(timeout=PATIENCE_S) as http,
            Client(
                streamable_http_client(served.url, http_client=http), mode="legacy", sampling_callback=asked.sample
            ) as client,
        ):
            await until_listed(client, "mutant__ask")

            async def ask_often() -> None:
                for _ in range(IN_ALL // AT_ONCE):
                    await client.call_tool("mutant__ask", {"method": "sampling/createMessage", "params": SAMPLING})

            await asyncio.gather(*(ask_often() for _ in range(AT_ONCE)))
    assert len(asked.questions) == IN_ALL


ANSWER: Any = {
    "content": [{"type": "text", "text": "x", "annotations": mutant.REGARD, "_meta": {}}],
    "structuredContent": {"a": 1},
    "isError": False,
    "_meta": {"a": 1},
}


@requirement("PROV-16", "QUAL-03")
@EACH_PAIR
async def test_every_answer_can_be_read_or_is_an_error_that_names_the_server(
    tmp_path: Path, mode: str, era: str
) -> None:
    async with connected(tmp_path, mode, era) as client:
        for at in mutant.paths(ANSWER):
            for junk in mutant.JUNK:
                if at[-1] == "type" and isinstance(junk, str):
                    continue  # a kind of block that nobody here knows passes as it came
                told = await client.call_tool("mutant__say", {"result": mutant.changed(ANSWER, at, junk)})
                if told.is_error and junk is not True:
                    (block,) = told.content
                    assert isinstance(block, types.TextContent)
                    assert block.text.startswith("mutant: its ")

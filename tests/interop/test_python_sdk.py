"""The official Python SDK as our client: every mode, both transports; its own types check every answer."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared.exceptions import MCPError

from tests.requirements import requirement
from tests.servers.weft import CONFORMANCE, MCP_SERVER, PROBE, Served, environment, gateway

pytestmark = pytest.mark.slow

PATIENCE_S = 30.0
MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
"""How the client negotiates → what it must end up with."""
EVERY_WAY = pytest.mark.parametrize("way", [f"{link} {mode}" for link in ("stdio", "http") for mode in MODES])
OPTIONS = ("--names", "bare", "--no-builtin")
TOKEN = "gateway.token"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sdk")


@pytest.fixture(scope="module")
def served(folder: Path) -> Generator[Served]:
    with gateway(folder, *OPTIONS, package=CONFORMANCE) as running:
        yield running


class Connect:
    """Opens the SDK's client the given way."""

    def __init__(self, way: str, folder: Path, served: Served) -> None:
        link, self.mode = way.split()
        self._over_http = link == "http"
        self._folder, self._served = folder, served

    @asynccontextmanager
    async def __call__(self, **options: Any) -> AsyncGenerator[Client]:
        async with asyncio.timeout(PATIENCE_S):
            if not self._over_http:
                async with Client(self._command(), mode=self.mode, **options) as client:
                    yield client
                return
            token = (self._folder / "home" / TOKEN).read_text().strip()
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_S) as http:
                transport = streamable_http_client(self._served.url, http_client=http)
                async with Client(transport, mode=self.mode, **options) as client:
                    yield client

    def _command(self) -> StdioServerParameters:
        args = [*MCP_SERVER[1:], *OPTIONS]
        env = environment(self._folder, CONFORMANCE)
        return StdioServerParameters(command=MCP_SERVER[0], args=args, env=env, cwd=self._folder)


@pytest.fixture
def connect(way: str, folder: Path, served: Served) -> Connect:
    return Connect(way, folder, served)


def text_of(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@requirement("QUAL-15", "SHELL-02", "SHELL-18")
@EVERY_WAY
async def test_it_finds_the_revision_and_who_we_are(connect: Connect) -> None:
    async with connect() as client:
        assert client.protocol_version == MODES[connect.mode]
        await client.list_tools()
        if connect.mode != "2026-07-28":  # a pinned client never asks
            assert client.server_info is not None
            assert client.server_info.name == "clawft"
            assert client.server_capabilities.tools is not None


@requirement("QUAL-15", "SHELL-05", "SHELL-06", "SHELL-08")
@EVERY_WAY
async def test_it_lists_and_calls_tools(connect: Connect) -> None:
    async with connect() as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"test_simple_text", "json_schema_2020_12_tool", "test_x_mcp_header"} <= names
        assert text_of(await client.call_tool("test_simple_text")) == "This is a simple text response for testing."
        mixed = await client.call_tool("test_multiple_content_types")
        assert [block.type for block in mixed.content] == ["text", "image", "resource"]
        failed = await client.call_tool("test_error_handling")
        assert failed.is_error
        assert text_of(await client.call_tool("test_x_mcp_header", {"region": "zürich"})) == "Region: zürich"


@requirement("QUAL-15", "SHELL-09", "SHELL-07")
@EVERY_WAY
async def test_it_hears_about_what_is_not_there(connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool")
        assert unknown.value.error.code == types.INVALID_PARAMS
        with pytest.raises(MCPError) as missing:
            await client.read_resource("test://no-such-thing")
        assert missing.value.error.code == (-32002 if connect.mode == "legacy" else types.INVALID_PARAMS)
        with pytest.raises(MCPError):
            await client.get_prompt("no_such_prompt")


@requirement("QUAL-15", "WIRE-20")
@EVERY_WAY
async def test_it_reads_resources_and_gets_prompts_and_completions(connect: Connect) -> None:
    async with connect() as client:
        uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert "test://static-text" in uris
        (content,) = (await client.read_resource("test://static-text")).contents
        assert isinstance(content, types.TextResourceContents)
        assert content.text == "This is the content of the static text resource."
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "test://template/{id}/data"
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert "test_prompt_with_arguments" in prompts
        filled = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        (message,) = filled.messages
        assert isinstance(message.content, types.TextContent)
        assert message.content.text == "Prompt with arguments: arg1='a', arg2='b'"
        ref = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        completed = await client.complete(ref, {"name": "arg1", "value": "par"})
        assert completed.completion.values == ["paris", "park", "party"]


@requirement("QUAL-15")
@EVERY_WAY
async def test_it_follows_progress(connect: Connect) -> None:
    seen: list[tuple[float, float | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    async with connect() as client:
        result = await client.call_tool("test_tool_with_progress", progress_callback=on_progress)
        assert text_of(result) == "Tool with progress executed successfully"
    assert seen == [(0, 100), (50, 100), (100, 100)]


@requirement("QUAL-15", "SHELL-17", "S3-E10")
@EVERY_WAY
async def test_it_notices_that_the_tools_have_changed(connect: Connect) -> None:
    told: asyncio.Queue[object] = asyncio.Queue()

    async def on_message(message: IncomingMessage) -> None:
        await told.put(message)

    async with connect(message_handler=on_message) as client:
        before = await _names(client)
        if connect.mode == "legacy":
            await client.call_tool("test_trigger_tool_change")
            while not isinstance(await told.get(), types.ToolListChangedNotification):
                continue
        else:
            async with client.listen(tools_list_changed=True) as events:
                await client.call_tool("test_trigger_tool_change")
                assert await anext(events) == ToolsListChanged()
        assert await _names(client) ^ before == {"test_added_tool"}
        await client.call_tool("test_trigger_tool_change")


async def _names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@requirement("QUAL-15")
@EVERY_WAY
async def test_it_answers_our_questions(connect: Connect) -> None:
    """As a request of ours in the old era, by coming back with the answer in the new one; the SDK hides which."""

    async def on_question(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        (field,) = params.requested_schema["properties"]
        return types.ElicitResult(action="accept", content={field: f"{params.message} me"})

    async with connect(elicitation_callback=on_question) as client:
        greeted = await client.call_tool("test_input_required_result_elicitation")
        assert text_of(greeted) == "Hello, What is your name? me!"
        twice = await client.call_tool("test_input_required_result_multi_round")
        assert text_of(twice) == "Step 1: What is your name? me likes Step 2: What is your favorite color? me"
        prompt = await client.get_prompt("test_input_required_result_prompt")
        assert "What context" in str(prompt.messages[0].content)


@requirement("QUAL-15", "SESS-14")
@EVERY_WAY
async def test_it_can_take_a_call_back(way: str, tmp_path: Path) -> None:
    """Cancelled here is cancelled there: the tool leaves a mark when it is stopped."""
    link, mode = way.split()
    with gateway(tmp_path, "--no-auth") as served:
        stdio = StdioServerParameters(
            command=MCP_SERVER[0], args=[*MCP_SERVER[1:]], env=environment(tmp_path, PROBE), cwd=tmp_path
        )
        async with asyncio.timeout(PATIENCE_S), Client(served.url if link == "http" else stdio, mode=mode) as client:
            running = asyncio.create_task(client.call_tool("probe__hold", {"mark": "taken", "seconds": 600}))
            while not (tmp_path / "taken.started").exists():
                await client.list_tools(cache_mode="bypass")
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            while not (tmp_path / "taken.cancelled").exists():
                await client.list_tools(cache_mode="bypass")
            echoed = await client.call_tool("probe__echo", {"token": "on we go"})
            assert echoed.structured_content == {"token": "on we go"}


@requirement("QUAL-15", "SHELL-12")
@EVERY_WAY
async def test_it_calls_many_at_once(connect: Connect) -> None:
    async with connect() as client:
        waits = {f"c{n}": n % 5 / 100 for n in range(64)}
        results = await asyncio.gather(
            *(client.call_tool("slow_compute", {"seconds": s, "label": label}) for label, s in waits.items())
        )
        assert [text_of(result).split()[1] for result in results] == list(waits)


@requirement("SHELL-19", "SHELL-21")
@pytest.mark.parametrize("mode", MODES)
async def test_without_the_token_it_gets_nowhere(served: Served, mode: str) -> None:
    statuses: set[int] = set()

    async def note(response: httpx2.Response) -> None:
        statuses.add(response.status_code)

    async with asyncio.timeout(PATIENCE_S), httpx2.AsyncClient(event_hooks={"response": [note]}) as http:
        with pytest.raises(ExceptionGroup, match="unhandled errors"):  # the SDK's task groups wrap its error
            async with Client(streamable_http_client(served.url, http_client=http), mode=mode) as client:
                await client.list_tools()
    assert statuses == {401}

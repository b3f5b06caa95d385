"""Two servers that call what they have by one URI: whatever the second names leads to the second."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.matrix.agents import Agent, PipeLine, over_http
from tests.matrix.cells import Era
from tests.requirements import requirement
from tests.servers.pipe import Pipe, call, mcp_server, text_of
from tests.servers.twin import DAY, ELSEWHERE, NOTE, PAGE, PART, SHARED, TEMPLATE
from tests.servers.weft import MCP_SERVER, ROOT, STOP_S, environment, gateway

pytestmark = pytest.mark.slow  # processes

PATIENCE_S = 30.0
TWIN = [sys.executable, "-m", "tests.servers.twin"]
MIRROR = ROOT / "tests" / "servers" / "mirror.py"
OPTIONS = ("--no-builtin", "--no-auth")
TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
WAYS = {
    "handshake over http, handshake servers over stdio": ("handshake", "handshake", "http"),
    "stateless over http, handshake servers over stdio": ("stateless", "handshake", "http"),
    "handshake over http, stateless servers over http": ("handshake", "stateless", "http"),
    "stateless over http, stateless servers over http": ("stateless", "stateless", "http"),
    "handshake over stdio, handshake servers over stdio": ("handshake", "handshake", "stdio"),
    "stateless over stdio, stateless servers over http": ("stateless", "stateless", "stdio"),
}
every_way = pytest.mark.parametrize("way", WAYS)
Json = dict[str, Any]


@contextmanager
def http_twin(name: str) -> Generator[Json]:
    process = subprocess.Popen([*TWIN, name, "stateless", "--http"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield {"url": process.stdout.readline().strip(), "trust": "trusted"}
    finally:
        process.terminate()
        process.wait(STOP_S)
        process.stdout.close()


class House:
    """Both twins of each era, and a gateway before them; begun when first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._configs: dict[str, str] = {}
        self._urls: dict[str, str] = {}

    def config(self, era: str) -> str:
        if era not in self._configs:
            self._configs[era] = json.dumps({"mcpServers": {name: self._twin(name, era) for name in ("one", "two")}})
        return self._configs[era]

    def _twin(self, name: str, era: str) -> Json:
        if era == "stateless":
            return self._stack.enter_context(http_twin(name))
        command = {"command": TWIN[0], "args": [*TWIN[1:], name, era], "cwd": str(ROOT)}
        return {**command, "trust": "trusted", "sandbox": "off"}

    def url(self, era: str) -> str:
        if era not in self._urls:
            folder = self._folder / era
            folder.mkdir()
            served = gateway(folder, *OPTIONS, "--mcp-config", self.config(era), package=ROOT)
            self._urls[era] = self._stack.enter_context(served).url
        return self._urls[era]

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    house = House(tmp_path_factory.mktemp("twins"))
    yield house
    house.close()


@asynccontextmanager
async def connected(way: str, house: House, folder: Path, **capabilities: Any) -> AsyncGenerator[Agent]:
    era: Era = "stateless" if WAYS[way][0] == "stateless" else "handshake"
    agent = Agent(era, capabilities)
    if WAYS[way][2] == "http":
        async with over_http(agent, house.url(WAYS[way][1])):
            await opened(agent)
            yield agent
        return
    options = ("--no-builtin", "--mcp-config", house.config(WAYS[way][1]))
    async with mcp_server(folder, *options, package=ROOT) as pipe:
        line = agent.line = PipeLine(agent, pipe.process)
        await opened(agent)
        yield agent
        pipe.stdin.close()
        await line.reading


async def opened(agent: Agent) -> None:
    """The first server is used before it is seen whether the second is there: so it is the older one."""
    await agent.open("2025-11-25")
    async with asyncio.timeout(PATIENCE_S):
        while "error" in await agent.ask("tools/call", name="one__show"):
            pass
        while not {"one__show", "two__show"} <= {each["name"] for each in (await agent.result("tools/list"))["tools"]}:
            await agent.notice("notifications/tools/list_changed") if agent.era == "handshake" else None
    agent.heard.clear()


async def spellings(agent: Agent) -> dict[str, str]:
    """How what the second server has is spelled, by how it spells it itself."""
    listed = (await agent.result("resources/list"))["resources"]
    spelled = {each["name"]: each["uri"] for each in listed if "two" in each["uri"]}
    return {**spelled, DAY: template_of_two(await agent.result("resources/templates/list")).replace("{day}", "monday")}


def template_of_two(listed: Json) -> str:
    return next(each["uriTemplate"] for each in listed["resourceTemplates"] if "two" in each["uriTemplate"])


async def is_of_two(agent: Agent, *uris: str) -> None:
    for uri in uris:
        read = (await agent.result("resources/read", uri=uri))["contents"][0]
        assert (read["uri"], read["text"].partition(":")[0]) == (uri, "two")


async def check(agent: Agent, blocks: list[Json]) -> None:
    """All that the second server names, as it is listed."""
    spelled = await spellings(agent)
    text, *links, embedded = blocks
    assert text["text"] == f"two {NOTE}"
    assert [each["uri"] for each in links] == [*(spelled[uri] for uri in SHARED), "two://own", ELSEWHERE]
    assert all(each["x"] == {"uri": NOTE} for each in links)
    assert embedded["resource"] == {"uri": spelled[NOTE], "text": f"two: {NOTE}"}
    await is_of_two(agent, *(each["uri"] for each in links[:-1]))


async def check_result(agent: Agent, result: Json) -> None:
    await check(agent, result["content"])
    assert result["structuredContent"] == {"uri": NOTE}
    await check_page(agent, result["_meta"])


async def check_page(agent: Agent, shown: Json) -> None:
    page = shown["ui"]["resourceUri"]
    assert (page != PAGE, shown["ui/resourceUri"], shown["v/k"], shown["ui"]["n"]) == (True, page, PAGE, 1.5)
    await is_of_two(agent, page)


# ── each place ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("RES-05", "RES-01")
@every_way
async def test_the_first_keeps_its_uris_and_those_of_the_second_are_wrapped(
    way: str, house: House, tmp_path: Path
) -> None:
    async with connected(way, house, tmp_path) as agent:
        listed = [each["uri"] for each in (await agent.result("resources/list"))["resources"]]
        assert listed[:3] == [NOTE, PART, "one://own"]
        assert [uri.startswith("weft-of://two/") for uri in listed[3:]] == [True, True, False]
        assert listed[5] == "two://own"
        await is_of_two(agent, *listed[3:])
        assert (await agent.result("resources/read", uri=NOTE))["contents"][0]["text"] == f"one: {NOTE}"


@requirement("RES-05", "SHELL-06")
@every_way
async def test_links_and_embedded_resources_of_a_tool(way: str, house: House, tmp_path: Path) -> None:
    async with connected(way, house, tmp_path) as agent:
        await check_result(agent, await agent.call("two__show"))
        first = await agent.call("one__show")
        assert [each["uri"] for each in first["content"][1:4]] == list(SHARED)


@requirement("RES-05", "RES-12")
@every_way
async def test_the_page_of_a_tool(way: str, house: House, tmp_path: Path) -> None:
    async with connected(way, house, tmp_path) as agent:
        tools = {each["name"]: each for each in (await agent.result("tools/list"))["tools"]}
        await check_page(agent, tools["two__show"]["_meta"])
        assert tools["one__show"]["_meta"]["ui"]["resourceUri"] == PAGE


@requirement("RES-05", "RES-07")
@every_way
async def test_the_messages_of_a_prompt(way: str, house: House, tmp_path: Path) -> None:
    async with connected(way, house, tmp_path) as agent:
        made = await agent.result("prompts/get", name="two__show")
        await check(agent, [message["content"] for message in made["messages"]])


@requirement("RES-05")
@every_way
async def test_contents_beside_those_that_were_asked_for(way: str, house: House, tmp_path: Path) -> None:
    async with connected(way, house, tmp_path) as agent:
        spelled = await spellings(agent)
        for asked in (spelled[NOTE], spelled[DAY], "two://own"):
            read = (await agent.result("resources/read", uri=asked))["contents"]
            assert [each["uri"] for each in read] == [asked, spelled[PART]]


@requirement("RES-05", "RES-12")
@every_way
async def test_results_of_tasks(way: str, house: House, tmp_path: Path) -> None:
    async with connected(way, house, tmp_path, **TASKS) as agent:
        wish = {"task": {"ttl": 60_000}} if agent.era == "handshake" else {}
        begun = await agent.result("tools/call", name="two__long_job", arguments={"token": "t"}, **wish)
        if agent.era == "handshake":
            await check_result(agent, await agent.result("tasks/result", taskId=begun["task"]["taskId"]))
            return
        async with asyncio.timeout(PATIENCE_S):
            while (task := await agent.result("tasks/get", taskId=begun["taskId"]))["status"] != "completed":
                continue  # asking takes its time
        await check_result(agent, task["result"])


@requirement("RES-05", "RES-12")
async def test_a_result_of_a_task_that_is_pushed(house: House, tmp_path: Path) -> None:
    way = "stateless over http, stateless servers over http"
    async with connected(way, house, tmp_path, **TASKS) as agent:
        begun = await agent.result("tools/call", name="two__job", arguments={"token": "t", "gate": "g"})
        await agent.watch(tasks=[begun["taskId"]])
        agent.start("tools/call", {"name": "two__finish", "arguments": {"gate": "g"}})
        pushed = await agent.notice("notifications/tasks", lambda told: told["status"] == "completed")
        await check_result(agent, pushed.params["result"])


@requirement("RES-05", "RES-12")
@every_way
async def test_a_task_for_an_agent_that_knows_none(way: str, house: House, tmp_path: Path) -> None:
    async with connected(way, house, tmp_path) as agent:
        await check_result(agent, await agent.call("two__long_job", token="t"))


@requirement("RES-05", "RES-06")
@every_way
async def test_news_of_what_is_watched(way: str, house: House, tmp_path: Path) -> None:
    async with connected(way, house, tmp_path) as agent:
        spelled = await spellings(agent)
        stream = await agent.watch([spelled[NOTE]])
        for uri in (NOTE, PART):
            await agent.call("two__touch", uri=uri)
            heard = await agent.notice("notifications/resources/updated")
            assert (heard.params["uri"], heard.params["title"]) == (spelled[uri], "two")
            agent.heard.clear()
        await agent.call("one__touch", uri=NOTE)
        await agent.unwatch(stream, spelled[NOTE])
        await agent.call("two__touch", uri=NOTE)
        await agent.call("two__show")
        assert agent.notices("notifications/resources/updated") == []


@requirement("RES-05", "RES-11")
@every_way
async def test_the_completion_of_a_template(way: str, house: House, tmp_path: Path) -> None:
    async with connected(way, house, tmp_path) as agent:
        wrapped = template_of_two(await agent.result("resources/templates/list"))
        for uri, whose in ((TEMPLATE, "one"), (wrapped, "two")):
            ref, argument = {"type": "ref/resource", "uri": uri}, {"name": "day", "value": "m"}
            completed = await agent.result("completion/complete", ref=ref, argument=argument)
            assert completed["completion"]["values"] == [whose]


@requirement("RES-05", "RES-06")
@every_way
async def test_what_is_put_into_a_template(way: str, house: House, tmp_path: Path) -> None:
    async with connected(way, house, tmp_path) as agent:
        wrapped = template_of_two(await agent.result("resources/templates/list"))
        asked, native = (template.replace("{day}", "a%2Fb") for template in (wrapped, TEMPLATE))
        read = (await agent.result("resources/read", uri=asked))["contents"][0]
        assert read == {"uri": asked, "text": f"two: {native}"}


# ── the official client, and bytes ───────────────────────────────────────────────────────────────────────────────────


@requirement("RES-05", "QUAL-15")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_follows_a_link_to_whom_it_is_from(mode: str, house: House, tmp_path: Path) -> None:
    weft = StdioServerParameters(
        command=MCP_SERVER[0],
        args=[*MCP_SERVER[1:], "--no-builtin", "--mcp-config", house.config("handshake")],
        env=environment(tmp_path, ROOT),
        cwd=tmp_path,
    )
    async with asyncio.timeout(PATIENCE_S), Client(weft, mode=mode) as client:
        while "two__show" not in {tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools}:
            continue  # asking takes its time
        shown = await client.call_tool("two__show")
        links = [block for block in shown.content if isinstance(block, types.ResourceLink)]
        for link in links[: len(SHARED)]:
            contents = (await client.read_resource(link.uri)).contents[0]
            assert isinstance(contents, types.TextResourceContents)
            assert (str(contents.uri), contents.text.partition(":")[0]) == (str(link.uri), "two")


ODD = (
    '{"content" : [{"name":"n", "uri":"%s","type":"resource_link" ,"n":1.50}],'
    '"_meta":{ "ui":{"resourceUri":"ui:\\/\\/nobody"}}, "x":"\\u0041"}'
)


@requirement("RES-05", "WIRE-21")
@pytest.mark.parametrize("servers", [("a",), ("a", "b")])
async def test_a_uri_that_only_one_has_passes_byte_for_byte(servers: tuple[str, ...], tmp_path: Path) -> None:
    mirror = {"command": sys.executable, "args": [str(MIRROR), "handshake"], "trust": "trusted", "sandbox": "off"}
    config = json.dumps({"mcpServers": dict.fromkeys(servers, mirror)})
    async with mcp_server(tmp_path, "--no-builtin", "--mcp-config", config, package=ROOT) as pipe:
        await pipe.open()
        last = servers[-1]
        while f"{last}__say" not in json.dumps(await pipe.ask("tools/list")):
            pass
        assert ODD % "new:\\/\\/x" in await said(pipe, f"{last}__say", ODD % "new:\\/\\/x")
        alone = len(servers) == 1
        assert (ODD % "mirror://show" in await said(pipe, f"{last}__say", ODD % "mirror://show")) is alone


async def said(pipe: Pipe, tool: str, result: str) -> str:
    """The line that comes of such a result."""
    answer = f'{{"jsonrpc":"2.0","id":$ID,"result":{result}}}'
    await pipe.send(call(1, tool, {"lines": [answer]}))
    return (await pipe.stdout.readline()).decode()


@requirement("RES-05", "POOL-08")
async def test_a_server_that_comes_later_takes_nothing_from_those_that_are_there(tmp_path: Path) -> None:
    """The one that comes stands before the other in its files, and its name before its name."""
    write_entry(tmp_path, "two")
    async with mcp_server(tmp_path, "--no-builtin", package=ROOT) as pipe:
        await pipe.open()
        assert text_of(await shown_by(pipe, "two")) == f"two {NOTE}"
        write_entry(tmp_path, "one")
        assert text_of(await shown_by(pipe, "one")) == f"one {NOTE}"
        listed = [each["uri"] for each in (await pipe.ask("resources/list"))["result"]["resources"]]
        of_one = next(uri for uri in listed if uri.startswith("weft-of://one/") and uri.endswith("note"))
        assert [await words_of(pipe, uri) for uri in (NOTE, of_one)] == [f"two: {NOTE}", f"one: {NOTE}"]


def write_entry(folder: Path, name: str) -> None:
    servers = folder / "home" / "mcp_servers"
    servers.mkdir(parents=True, exist_ok=True)
    command = f"command = {json.dumps(TWIN[0])}\nargs = {json.dumps([*TWIN[1:], name, 'handshake'])}\n"
    (servers / f"{name}.toml").write_text(
        f'{command}cwd = {json.dumps(str(ROOT))}\ntrust = "trusted"\nsandbox = "off"\n'
    )


async def shown_by(pipe: Pipe, server: str) -> Json:
    """As soon as it is there."""
    async with asyncio.timeout(PATIENCE_S):
        while "error" in (answer := await pipe.ask("tools/call", {"name": f"{server}__show"})):
            pass
    return answer


async def words_of(pipe: Pipe, uri: str) -> str:
    return (await pipe.ask("resources/read", {"uri": uri}))["result"]["contents"][0]["text"]

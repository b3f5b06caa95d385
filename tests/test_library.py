"""`Gateway` in a program that runs a loop of its own: its name, serving until it is cancelled, and no signal taken."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

import clawft
from clawft import Gateway, Tool, ToolContext, ToolNotFound, tool
from clawft.app import gateway_token
from clawft.errors import InvalidConfig
from tests.gateway.support import Demo, echo
from tests.requirements import requirement
from tests.servers.pipe import NEWEST, PATIENCE_S, STATELESS, call, modern_meta, request

HELLO = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": STATELESS,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "slow",
}

PROGRAM = """
import asyncio, signal, sys
from clawft import Gateway, tool

@tool
async def handlers() -> list[bool]:
    print("not for the caller")
    return [signal.getsignal(each) is before[each] for each in before]

async def main():
    async with Gateway(handlers, name="adder", version="1.2") as gateway:
        await gateway.serve()
    print("the program goes on", file=sys.stderr)

before = {}
async def watched():
    before.update((each, signal.getsignal(each)) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
    await main()

asyncio.run(watched())
"""


async def call_slow(session: aiohttp.ClientSession, url: str, token: str) -> Any:
    asked = request(1, "tools/call", {"name": "slow", "arguments": {}, "_meta": modern_meta()})
    headers = {**HEADERS, "Authorization": f"Bearer {token}"}
    async with session.post(url, data=asked, headers=headers) as answer:
        return await answer.json()


@requirement("QUAL-14")
@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_a_program_with_a_loop_serves_stdio_by_its_own_name_and_keeps_its_signals(tmp_path: Path) -> None:
    asked = request(1, "initialize", HELLO) + call(2, "handlers")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, input=asked, capture_output=True, timeout=PATIENCE_S, cwd=tmp_path
    )
    answers = {each["id"]: each["result"] for each in map(json.loads, done.stdout.splitlines())}
    assert answers[1]["serverInfo"] == {"name": "adder", "version": "1.2"}
    assert answers[2]["structuredContent"] == {"result": [True, True, True]}
    assert b"the program goes on" in done.stderr


@requirement("QUAL-14")
async def test_http_is_served_until_it_is_cancelled_and_running_calls_end_first(home: Path, tmp_path: Path) -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    @tool
    async def slow(ctx: ToolContext) -> str:
        begun.set()
        await goes_on.wait()
        return "done"

    before = signal.getsignal(signal.SIGTERM)
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession() as session:
        async with Gateway(slow, name="slow", workspace=tmp_path) as gateway:
            serving = asyncio.create_task(gateway.serve_http(port=0, ready=address.set_result))
            url = await address
            assert signal.getsignal(signal.SIGTERM) is before
            token = gateway_token(home)
            running = asyncio.create_task(call_slow(session, url, token))
            await begun.wait()
            serving.cancel()
            asyncio.get_running_loop().call_soon(goes_on.set)
            told = (await running)["result"]
            with pytest.raises(asyncio.CancelledError):
                await serving
        assert told["content"] == [{"type": "text", "text": "done"}]
        assert told["_meta"]["io.modelcontextprotocol/serverInfo"] == {"name": "slow", "version": "0"}
        with pytest.raises(aiohttp.ClientConnectionError):
            await call_slow(session, url, token)


@pytest.mark.usefixtures("home")
async def test_what_keeps_it_from_serving_is_told_to_the_program(tmp_path: Path) -> None:
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    first = asyncio.create_task(Gateway(workspace=tmp_path).serve_http(port=0, ready=address.set_result))
    port = int((await address).split(":")[2].split("/")[0])
    with pytest.raises(Exception, match=str(port)):
        await Gateway(workspace=tmp_path).serve_http(port=port)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first


@requirement("QUAL-14")
@pytest.mark.usefixtures("home")
@pytest.mark.filterwarnings("error")
async def test_where_a_loop_runs_already_it_is_said_what_serves_in_it(tmp_path: Path) -> None:
    gateway = Gateway(workspace=tmp_path)
    with pytest.raises(RuntimeError, match=r"await gateway\.serve\(\)"):
        gateway.run()
    with pytest.raises(RuntimeError, match=r"await gateway\.serve_http\("):
        gateway.run_http(port=0)


LOOPS = """
import asyncio, sys
from clawft import Gateway, tool

@tool
async def add(a: int) -> int:
    return a + 1

gateway = Gateway(add)
for number in range(3):
    asyncio.run(gateway.call_tool("add", a=number))
    print(*(line.count("tools__add") for line in open(sys.argv[1])) if number else "")
"""


@requirement("GUARD-11")
def test_a_program_with_a_loop_for_each_call_loses_no_line(home: Path, tmp_path: Path) -> None:
    """Not even if it never closes its gateway."""
    journal = home / "audit" / "audit.jsonl"
    words = [sys.executable, "-c", LOOPS, str(journal)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.stdout.split(), done.stderr) == (["1", "1", "1"], "")
    assert len(journal.read_text().splitlines()) == 3


class Loose:
    """A provider as somebody writes one who checks no types."""

    namespace = "loose"

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def list_tools(self) -> list[Tool]:
        return [Tool("x", b'{"name":"x","inputSchema":{"type":"object"}}')]

    def call_tool(self, name: str, arguments: Any) -> Any:
        return self._answer


@requirement("PROV-01", "PROV-02")
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("answer", "kind"), [({"a": 1}, "dict"), ("a", "str"), (None, "NoneType")])
async def test_a_provider_that_gives_no_result_is_named(answer: Any, kind: str, tmp_path: Path) -> None:
    async with Gateway(cast("Any", Loose(answer)), workspace=tmp_path) as gateway:
        told = await gateway.call_tool("x")
    assert (told.is_error, told.content[0]["text"]) == (
        True,
        f"the provider loose gave {kind}, not a CallToolResult",
    )


@requirement("PROV-01")
@pytest.mark.usefixtures("home")
async def test_a_function_is_no_provider_and_told_how_it_is_offered(tmp_path: Path) -> None:
    @tool
    def hello() -> str:
        """Say it."""
        return "hello"

    with pytest.raises(TypeError, match=r"hello is not a provider: Gateway\(hello\), or register\(FunctionProvider"):
        Gateway(workspace=tmp_path).register(cast("Any", hello))


@requirement("PROV-11")
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"names": "odd"}, "no form of names: 'odd' .*plain, mcp, claude, bare"),
        ({"namespace": "a__b"}, "'a__b' cannot be a namespace"),
        ({"namespace": ""}, "'' cannot be a namespace"),
        ({"workspace": "/no/such/folder"}, "the workspace is not a folder: /no/such/folder"),
    ],
)
def test_what_a_gateway_cannot_be_made_of_is_named(wrong: dict[str, Any], said: str, tmp_path: Path) -> None:
    @tool
    def hello() -> str:
        """Say it."""
        return "hello"

    options: dict[str, Any] = {"workspace": tmp_path, **wrong}
    with pytest.raises(InvalidConfig, match=said):
        Gateway(hello, **options)


@requirement("PROV-04", "PROV-07")
@pytest.mark.usefixtures("home")
def test_what_was_registered_is_withdrawn_by_any_of_its_names_and_another_is_told(tmp_path: Path) -> None:
    gateway = Gateway(workspace=tmp_path)
    for name in ("the provider", "mcp:one", "one"):
        offered = Demo("mcp:one").add("echo", echo)
        gateway.register(offered)
        gateway.unregister(offered if name == "the provider" else name)
        assert gateway.list_tools() == []
        with pytest.raises(ToolNotFound, match="nothing is offered as"):
            gateway.unregister(offered if name == "the provider" else name)
    stands, other = (Demo("same").add("echo", echo) for _ in range(2))
    gateway.register(stands)
    with pytest.raises(ToolNotFound, match="'same'"):
        gateway.unregister(other)
    assert gateway.list_tools()


def test_the_public_names_are_listed() -> None:
    assert set(clawft.__all__) <= set(dir(clawft))


@pytest.mark.usefixtures("home")
def test_a_version_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="a version without a name"):
        Gateway(version="1", workspace=tmp_path)

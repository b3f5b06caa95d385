"""A server in a few lines of Python: connected, called, offered, ended."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from aiohttp import web
from msgspec.structs import replace

from clawft import Gateway, NotConnected, ToolRules, UpstreamSpec, connect_server
from clawft.errors import InvalidConfig
from tests.requirements import requirement
from tests.servers.web import Asked, serve

pytestmark = pytest.mark.slow  # processes

SERVERS = Path(__file__).parents[2] / "servers"


def honest(*options: str) -> UpstreamSpec:
    return UpstreamSpec("one", command=sys.executable, args=(str(SERVERS / "honest.py"), *options), sandbox="off")


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWFT_HOME", str(tmp_path / "home"))


@requirement("SESS-20", "F9a-A03")
async def test_a_program_has_the_tools_of_a_server_until_it_closes_it(tmp_path: Path) -> None:
    before = psutil.Process().children()
    server = await connect_server(honest(), workspace=tmp_path)
    assert (server.namespace, server.server) == ("mcp:one", "one")
    assert "echo" in [tool.name for tool in server.list_tools()]
    assert (await server.call_tool("echo", {"token": "x"})).content == [{"type": "text", "text": "x"}]
    assert (await server.call_tool("echo", {"token": Path("a")})).content == [{"type": "text", "text": "a"}]
    gateway = Gateway(server, names="plain", workspace=tmp_path)
    assert "one__echo" in [tool.name for tool in gateway.list_tools()]
    assert (await gateway.call_tool("one__echo", token="y")).content == [{"type": "text", "text": "y"}]
    await gateway.close()
    await server.close()
    await server.close()
    assert psutil.Process().children() == before


@requirement("SESS-20", "S4-CL-02", "SESS-05", "CONF-18")
@pytest.mark.parametrize(
    ("spec", "step"),
    [
        (UpstreamSpec("one", command="/no/such/program"), "/no/such/program does not exist"),
        (honest("--die-on", "initialize"), "exited with status"),
        (UpstreamSpec("one", command="/bin/cat;ls", trust="trusted"), "unsafe command: '/bin/cat;ls'"),
    ],
)
async def test_what_cannot_be_started_says_why(spec: UpstreamSpec, step: str, tmp_path: Path) -> None:
    with pytest.raises(NotConnected, match=f"one: .*{step}"):
        await connect_server(spec, workspace=tmp_path)


HELLO: Mapping[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}


@requirement("SESS-20", "S4-CL-02", "SESS-05")
@pytest.mark.parametrize(
    ("results", "step"), [({}, "the handshake: no way"), ({"initialize": HELLO}, "tools/list: no way")]
)
async def test_what_a_server_refuses_is_told_with_the_step(
    results: Mapping[str, Any], step: str, tmp_path: Path
) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about in results:
            answer: dict[str, Any] = {"result": results[asked.about]}
        else:
            answer = {"error": {"code": -32000, "message": "no way"}}
        return web.json_response({"jsonrpc": "2.0", "id": asked.message.get("id"), **answer})

    async with serve(respond) as seen:
        with pytest.raises(NotConnected, match=f"one: {step}"):
            await connect_server(UpstreamSpec("one", url=seen.url), workspace=tmp_path)


@requirement("SESS-20", "S4-CL-02", "SESS-05")
@pytest.mark.parametrize(("mute", "step"), [("initialize", "the handshake"), ("tools/list", "tools/list")])
async def test_a_server_that_does_not_answer_is_not_connected(mute: str, step: str, tmp_path: Path) -> None:
    before = psutil.Process().children()
    with pytest.raises(NotConnected, match=f"one: not ready after 1 s: no answer to {step} yet"):
        await connect_server(honest("--mute", mute), workspace=tmp_path, seconds=1.0)
    assert psutil.Process().children() == before


@requirement("SESS-20", "S4-CL-02")
async def test_remembered_tools_do_not_stand_in_for_a_server_that_does_not_answer(tmp_path: Path) -> None:
    flag = tmp_path / "mute"
    server = str(SERVERS / "honest.py")
    program = f"import os, runpy, sys\nsys.argv += ['--mute', 'initialize'] * os.path.exists({str(flag)!r})\n"
    program += f"runpy.run_path({server!r}, run_name='__main__')"
    spec = UpstreamSpec("one", command=sys.executable, args=("-c", program), sandbox="off")
    async with connect_server(spec, workspace=tmp_path) as good:
        assert good.list_tools()
    flag.touch()
    with pytest.raises(NotConnected, match="one: not ready after 1 s: no answer to the handshake yet"):
        await connect_server(spec, workspace=tmp_path, seconds=1.0)


@requirement("SESS-20")
async def test_a_server_that_is_entered_ends_with_the_block(tmp_path: Path) -> None:
    before = psutil.Process().children()
    async with connect_server(honest(), workspace=tmp_path) as server:
        assert (await server.call_tool("echo", {"token": "x"})).content == [{"type": "text", "text": "x"}]
        assert psutil.Process().children() != before
    assert psutil.Process().children() == before
    with pytest.raises(NotConnected, match=r"one: .*does not exist"):
        async with connect_server(UpstreamSpec("one", command="/no/such/program"), workspace=tmp_path):
            pass


@requirement("SESS-20")
async def test_several_are_connected_at_a_time(tmp_path: Path) -> None:
    connecting = [asyncio.create_task(connect_server(honest(), workspace=tmp_path)) for _ in range(2)]
    servers = await asyncio.gather(*connecting)
    assert [server.server for server in servers] == ["one", "one"]
    await asyncio.gather(*(server.close() for server in servers))


@requirement("SESS-20")
@pytest.mark.parametrize("tools", [{"deny": ["ec*"], "timeout_ms": {"slow": 500}}, ToolRules(deny=("ec*",))])
async def test_which_tools_are_offered_is_said_as_in_the_configuration(tools: Any, tmp_path: Path) -> None:
    async with connect_server(replace(honest(), tools=tools), workspace=tmp_path) as server:
        names = [tool.name for tool in server.list_tools()]
        assert names
        assert "echo" not in names


@requirement("SESS-20", "CONF-02")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"trust": "trsted"}, "trust must be trusted or untrusted .*'trsted'"),
        ({"isolation": "nope"}, "isolation must be shared or per-session"),
        ({"timeout_ms": -5}, "timeout_ms must be a whole number from 1"),
        ({"timeout_ms": "x"}, "timeout_ms must be a whole number from 1"),
        ({"sandbox": "maybe"}, "sandbox is one of auto, off, strict, require or a table, not 'maybe'"),
        ({"env": {"A": 5}}, r"env must be a table of texts \(Expected `str`, got `int`\)"),
        ({"tools": {"dny": ["x"]}}, "tools must be a table of allow, deny .*unknown field `dny`"),
    ],
)
async def test_a_spec_that_no_file_could_have_is_told_at_once(wrong: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(NotConnected, match=f"one: {said}"):
        await connect_server(replace(honest(), **wrong), workspace=tmp_path)


@pytest.mark.parametrize("given", ["https://mcp.example.com/mcp", {"command": "cat"}])
def test_what_is_no_spec_is_told_with_how_one_is_written(given: Any) -> None:
    with pytest.raises(TypeError, match=r"is not an UpstreamSpec: UpstreamSpec\('name'"):
        connect_server(given)


@requirement("PROV-11")
async def test_beside_built_in_tools_no_server_has_their_name(tmp_path: Path) -> None:
    spec = UpstreamSpec("git", command=sys.executable, args=(str(SERVERS / "honest.py"),), sandbox="off")
    async with connect_server(spec, workspace=tmp_path) as server:
        with pytest.raises(InvalidConfig, match="'git' is the namespace of built-in tools; my-git would do"):
            Gateway(server, builtin=True, workspace=tmp_path)
        async with Gateway(server, workspace=tmp_path, names="plain") as gateway:
            assert "git__echo" in [tool.name for tool in gateway.list_tools()]

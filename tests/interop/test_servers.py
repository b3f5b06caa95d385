"""Published servers, none of them ours, behind our client side; and our own `weft` as one of them."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from clawft.provider.server.server_provider import ServerProvider
from clawft.upstream.links import links_to
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec
from tests import peers
from tests.requirements import requirement
from tests.servers.pipe import notification, request
from tests.servers.weft import MCP_SERVER, environment, outliving

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
HONEST = str(Path(__file__).parents[1] / "servers" / "honest.py")
EVERYTHING = "mcp-server-everything"


@asynccontextmanager
async def connected(folder: Path, spec: UpstreamSpec) -> AsyncGenerator[tuple[Pool, ServerProvider]]:
    pool = Pool(folder / "cache", links_to, [{"uri": folder.as_uri(), "name": "work"}])
    made: list[ServerProvider] = []
    pool.news.added.listen(lambda upstream: made.append(ServerProvider(upstream)))
    pool.news.notification.listen(lambda upstream, notice, stream: made[0].on_notification(notice, upstream, stream))
    async with asyncio.timeout(PATIENCE_S):
        try:
            done = await pool.connect(spec)
            assert done.errors == {}
            yield pool, made[0]
        finally:
            await pool.close()


def command(name: str, argv: list[str], **more: Any) -> UpstreamSpec:
    return UpstreamSpec(name, command=argv[0], args=tuple(argv[1:]), **more)


async def exercise(pool: Pool, provider: ServerProvider) -> None:
    """What every way to server-everything must give."""
    assert {"echo", "get-sum"} <= {tool.name for tool in provider.list_tools()}
    said = await provider.call_tool("echo", {"message": "grüße"})
    assert said.content[0]["text"] == "Echo: grüße"
    assert "42" in (await provider.call_tool("get-sum", {"a": 40, "b": 2})).content[0]["text"]
    resources = provider.list_resources()
    read = await provider.read_resource(resources[0].uri)
    assert read is not None
    assert json.loads(read)["contents"][0]["uri"] == resources[0].uri
    assert provider.list_prompts()
    assert pool.server_status("everything").era == "handshake"


@requirement("MGR-18", "S2-P6-05", "LINK-03")
async def test_everything_over_pipes(tmp_path: Path) -> None:
    argv = [*peers.bin(EVERYTHING), "stdio"]
    async with connected(tmp_path, command("everything", argv)) as (pool, provider):
        await exercise(pool, provider)


@contextmanager
def listening(argv: list[str]) -> Generator[int]:
    """A server that takes its port from the environment, for as long as the block runs."""
    process, port = next(filter(None, (_listens(argv) for _ in range(MAX_TRIES))))
    try:
        yield port
    finally:
        _end(process)


MAX_TRIES = 3


def _listens(argv: list[str]) -> tuple[subprocess.Popen[str], int] | None:
    """None if it ended at once: somebody else may have taken the port that was free a moment ago."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {"PORT": str(port), "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout or ():
        if re.search(r"listening|running on port", line, re.IGNORECASE):
            return process, port
    _end(process)
    return None


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


@requirement("MGR-18", "S2-P6-05", "LINK-12", "LINK-14", "LINK-23")
@pytest.mark.parametrize(("how", "path"), [("streamableHttp", "/mcp"), ("sse", "/sse")])
async def test_everything_over_http(tmp_path: Path, how: str, path: str) -> None:
    with listening([*peers.bin(EVERYTHING), how]) as port:
        spec = UpstreamSpec("everything", url=f"http://127.0.0.1:{port}{path}")
        async with connected(tmp_path, spec) as (pool, provider):
            await exercise(pool, provider)


@requirement("MGR-18", "S2-P6-05", "SESS-21")
async def test_the_filesystem_server_reads_the_folder_it_learns_from_our_roots(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("written before")
    argv = [*peers.bin("mcp-server-filesystem"), str(tmp_path)]
    async with connected(tmp_path, command("files", argv)) as (_, provider):
        assert len(provider.list_tools()) >= 10
        read = await provider.call_tool("read_text_file", {"path": str(tmp_path / "note.txt")})
        assert read.content[0]["text"] == "written before"
        assert (await provider.call_tool("read_text_file", {"path": "/etc/passwd"})).is_error


@requirement("MGR-18", "S2-P6-05")
@pytest.mark.parametrize(("name", "args"), [("time", ["--local-timezone", "UTC"]), ("git", []), ("fetch", [])])
async def test_python_servers_speak_both_eras(tmp_path: Path, name: str, args: list[str]) -> None:
    program = Path(sys.executable).with_name(f"mcp-server-{name}")
    if not program.exists():
        pytest.skip(f"mcp-server-{name} is not installed beside this Python: it is in no lock yet")
    async with connected(tmp_path, command(name, [str(program), *args])) as (pool, provider):
        assert provider.list_tools()
        assert pool.server_status(name).era == "stateless"


@requirement("SESS-06", "POOL-08", "MGR-17")
async def test_our_own_server_is_a_stateless_upstream(tmp_path: Path) -> None:
    env = environment(tmp_path)
    given = {name: env[name] for name in ("PYTHONPATH", "CLAWFT_HOME")}
    argv = [*MCP_SERVER, "--no-builtin", "--names", "bare"]
    async with connected(tmp_path, command("weft", argv, env=given, cwd=str(tmp_path))) as (pool, provider):
        assert pool.server_status("weft").era == "stateless"
        assert (await provider.call_tool("echo", {"token": "there"})).structured_content == {"token": "there"}
        many = (provider.call_tool("wait", {"token": str(n), "seconds": 0.05}) for n in range(64))
        answers = await asyncio.gather(*many)
        assert [each.content[0]["text"] for each in answers] == [str(n) for n in range(64)]


@requirement("POOL-21", "S2-P2-09")
async def test_no_child_survives_when_weft_is_killed(tmp_path: Path) -> None:
    servers = {
        "eof": {"command": sys.executable, "args": [HONEST]},
        "stubborn": {"command": sys.executable, "args": [HONEST, "--ignore-eof", "--ignore-term"]},
    }
    argv = [*MCP_SERVER, "--no-builtin", "--mcp-config", json.dumps({"mcpServers": servers})]
    process = subprocess.Popen(  # noqa: ASYNC220 - it is read by a thread, and outlives nothing here
        argv, cwd=tmp_path, env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        children = await asyncio.wait_for(asyncio.to_thread(_children_of, process, len(servers)), PATIENCE_S)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
        assert len(children) == 2
        assert outliving(children, 10) == []
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _children_of(process: subprocess.Popen[bytes], count: int) -> list[psutil.Process]:
    """Once both servers list their tools, their processes."""
    assert process.stdin is not None
    assert process.stdout is not None
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    process.stdin.write(request(1, "initialize", hello) + notification("notifications/initialized"))
    wanted = {"eof__echo", "stubborn__echo"}
    process.stdin.write(request(2, "tools/list"))
    process.stdin.flush()
    for line in process.stdout:
        message = json.loads(line)
        if message.get("method") == "notifications/tools/list_changed":
            process.stdin.write(request(2, "tools/list"))
            process.stdin.flush()
        names = {tool["name"] for tool in message.get("result", {}).get("tools", ())}
        if wanted <= names:
            break
    return [each for each in psutil.Process(process.pid).children() if HONEST in each.cmdline()][:count]

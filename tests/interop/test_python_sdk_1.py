"""Servers of the official Python SDK before 2.0 over HTTP: found to be of the handshake era, and used."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests import peers
from tests.requirements import requirement
from tests.servers.pipe import mcp_server, text_of
from tests.servers.weft import ROOT

pytestmark = [pytest.mark.slow, requirement("SESS-07", "LINK-16")]

SERVER = ROOT / "tests" / "servers" / "sdk1.py"
START_S = 30.0


@asynccontextmanager
async def serving(stateless: bool, plain: bool) -> AsyncGenerator[str]:
    """Its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [str(peers.sdk1()), str(SERVER), str(port), str(int(stateless)), str(int(plain))]
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(START_S):
            while b"running on" not in await said(process):
                pass
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.communicate()


async def said(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout
    line = await process.stdout.readline()
    assert line, "it has ended"
    return line


@pytest.mark.parametrize("plain", [False, True], ids=["events", "json"])
@pytest.mark.parametrize("stateless", [False, True], ids=["sessions", "stateless"])
async def test_each_way_to_serve_is_understood(tmp_path: Path, stateless: bool, plain: bool) -> None:
    async with serving(stateless, plain) as url:
        config = f'{{"mcpServers": {{"old": {{"url": "{url}"}}}}}}'
        async with mcp_server(tmp_path, "--no-builtin", "--mcp-config", config) as pipe:
            await pipe.open()
            listed = await pipe.ask("tools/list")
            assert "old__add" in [tool["name"] for tool in listed["result"]["tools"]]
            for a in range(3):
                answer = await pipe.ask("tools/call", {"name": "old__add", "arguments": {"a": a, "b": 1}})
                assert text_of(answer) == str(a + 1)

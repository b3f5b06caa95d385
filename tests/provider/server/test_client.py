"""Servers by name."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from clawft.errors import NotConnected, ResourceNotFound, ServerNotFound
from clawft.model import ResourceContent
from clawft.provider.base import Provider
from clawft.provider.server.client import McpClient, NoServers, PoolClient
from clawft.provider.server.server_providers import ServerProviders
from clawft.upstream import backoff
from clawft.upstream.spec import UpstreamSpec
from tests.requirements import requirement
from tests.upstream.support import child, pool


class Registry:
    def register(self, provider: Provider, *, server: str = "", trusted: bool = True) -> None:
        pass

    def unregister(self, namespace: str) -> None:
        pass

    def arrange(self, namespaces: Sequence[str]) -> None:
        pass


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)


@requirement("MGR-09", "MGR-16", "S2-P4-13", "S2-P4-14", "S2-P4-15", "S4-SV-03", "RES-01")
async def test_each_server_answers_for_itself(tmp_path: Path) -> None:
    async with pool(tmp_path) as mine:
        client: McpClient = PoolClient(mine, ServerProviders(mine, Registry()))
        bad = UpstreamSpec("bad", command="/no/such/program")
        ends = UpstreamSpec("ends", command=sys.executable, args=("-c", "raise SystemExit(3)"))
        wanted = {"a": child("a"), "bad": bad, "ends": ends, "off": child("off", enabled=False)}
        await mine.set_servers(wanted, seconds=20)
        assert [each.uri for each in await client.list_resources("a")] == ["honest://note"]
        read = await client.read_resource("a", "honest://note")
        assert list(read) == [ResourceContent("honest://note", text="read")]
        assert (await client.call_tool("a", "echo", {"token": "x"})).content == [{"type": "text", "text": "x"}]
        with pytest.raises(ResourceNotFound):
            await client.read_resource("a", "other://x")
        with pytest.raises(ServerNotFound):
            await client.list_resources("nobody")
        for down in ("bad", "ends", "off"):
            with pytest.raises(NotConnected):
                await client.call_tool(down, "echo", {})
            with pytest.raises(NotConnected):
                await client.read_resource(down, "honest://note")


@requirement("MGR-16", "S2-P5-03")
async def test_without_servers_every_question_says_so() -> None:
    client: McpClient = NoServers()
    for asked in (client.list_resources("a"), client.read_resource("a", "x:y"), client.call_tool("a", "t", {})):
        with pytest.raises(ServerNotFound, match="no MCP servers configured"):
            await asked

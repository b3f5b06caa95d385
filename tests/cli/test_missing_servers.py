"""An agent can say why the tools of a server are not there: a tool that is offered only while one is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from clawft.app.missing_servers import MissingServers
from clawft.upstream.news import News
from clawft.upstream.state import ServerState
from tests.requirements import requirement
from tests.servers.pipe import Pipe, mcp_server

if TYPE_CHECKING:
    from clawft.app.own_tools import OwnTools
    from clawft.upstream.pool import Pool

pytestmark = pytest.mark.slow  # processes that take their time

TINY = str(Path(__file__).parents[1] / "servers" / "tiny.py")
TOOL = "weft__missing_servers"


async def names(pipe: Pipe) -> set[str]:
    return {tool["name"] for tool in (await pipe.ask("tools/list"))["result"]["tools"]}


async def missing(pipe: Pipe) -> dict[str, dict[str, Any]]:
    answer = await pipe.ask("tools/call", {"name": TOOL, "arguments": {}})
    return {row["name"]: row for row in answer["result"]["structuredContent"]["result"]}


async def until_changed(pipe: Pipe) -> None:
    while not any(said.get("method") == "notifications/tools/list_changed" for said in pipe.others):
        pipe.others.append(await pipe.read())
    pipe.others.clear()


@requirement("POOL-14", "SHELL-17", "POOL-15")
async def test_a_server_that_is_missing_is_named_with_its_reason_and_hides_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "mcp_servers"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    (folder / "gone.toml").write_text('name = "gone"\ncommand = "/no/such/program"\n')
    well = json.dumps({"mcpServers": {"well": {"command": sys.executable, "args": [TINY]}}})
    async with mcp_server(tmp_path, "--mcp-config", well) as pipe:
        await pipe.open()
        while TOOL not in (listed := await names(pipe)) or "well__echo" not in listed:
            await until_changed(pipe)
        row = (await missing(pipe))["gone"]
        assert (row["state"], row["command"]) == ("failed", "weft servers reconnect gone")
        assert "/no/such/program" in row["why"]
        pipe.others.clear()
        (folder / "gone.toml").unlink()
        while TOOL in (listed := await names(pipe)):
            await until_changed(pipe)
        assert "well__echo" in listed


@requirement("POOL-14")
async def test_nothing_more_is_listed_while_none_is_missing(tmp_path: Path) -> None:
    well = json.dumps({"mcpServers": {"well": {"command": sys.executable, "args": [TINY]}}})
    async with mcp_server(tmp_path, "--mcp-config", well) as pipe:
        await pipe.open()
        assert TOOL not in await names(pipe)


class _Own:
    """Tools of our own, as far as this one is concerned."""

    def __init__(self) -> None:
        self.offered = False

    def offer(self, name: str, make: object) -> None:
        self.offered = make is not None


class _Pool:
    """Servers by their states, and how often somebody went through all of them."""

    def __init__(self, *states: ServerState) -> None:
        self.news = News()
        self.upstreams: Any = [SimpleNamespace(state=state) for state in states]
        self.walks = 0

    def __iter__(self) -> Iterator[Any]:
        self.walks += 1
        return iter(self.upstreams)

    def move(self, at: int, state: ServerState) -> None:
        self.upstreams[at].state = state
        self.news.state_changed.tell(self.upstreams[at])


@requirement("POOL-14")
def test_of_a_hundred_servers_that_come_up_none_costs_a_look_at_all_others() -> None:
    pool, own = _Pool(*[ServerState.PENDING] * 100), _Own()
    MissingServers(cast("Pool", pool), cast("OwnTools", own))
    for at in range(100):
        pool.move(at, ServerState.CONNECTED)
    assert (pool.walks, own.offered) == (0, False)
    pool.move(7, ServerState.FAILED)
    pool.move(8, ServerState.NEEDS_AUTH)
    pool.move(7, ServerState.CONNECTED)
    assert own.offered
    pool.move(8, ServerState.CONNECTED)
    assert not own.offered

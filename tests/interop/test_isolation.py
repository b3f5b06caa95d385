"""`isolation = "per-session"`: what one conversation does to a server, another does not see."""

import asyncio
import sys
from pathlib import Path

import psutil
import pytest

from tests.requirements import requirement
from tests.servers.raw_http import Session, ask, message, open_session
from tests.servers.weft import Served, gateway

pytestmark = pytest.mark.slow

HONEST = Path(__file__).parents[1] / "servers" / "honest.py"
PATIENCE_S = 20.0


def config(folder: Path, isolation: str) -> str:
    file = folder / "servers.toml"
    file.write_text(
        f'[mcp_servers.honest]\ncommand = "{sys.executable}"\nargs = ["{HONEST}"]\nisolation = "{isolation}"\n'
    )
    return str(file)


def children(served: Served) -> int:
    return sum(_is_honest(child) for child in psutil.Process(served.pid).children(recursive=True))


def _is_honest(process: psutil.Process) -> bool:
    """Not what stands around it: bubblewrap, or the tender that Landlock has."""
    try:
        return str(HONEST) in process.cmdline() and not process.children()
    except psutil.NoSuchProcess:  # it ended while we looked
        return False


async def until(served: Served, count: int) -> None:
    """Processes come and go by themselves; there is no event to wait for from outside."""
    async with asyncio.timeout(PATIENCE_S):
        while children(served) != count:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.02)


async def opened(served: Served) -> Session:
    """A session that sees the server's tools; they are listed once it is up."""
    session = await open_session(served.port)
    async with asyncio.timeout(PATIENCE_S):
        while b"honest__echo" not in (await ask(served.port, session.post(message(0, "tools/list")))).body:
            continue  # asking takes its time
    return session


async def echo(served: Served, session: Session, token: str) -> str:
    answer = await ask(served.port, session.call(1, "honest__echo", {"token": token}))
    return answer.json()["result"]["content"][0]["text"]


@requirement("POOL-23")
async def test_each_conversation_has_a_server_of_its_own_and_takes_it_along(tmp_path: Path) -> None:
    with gateway(tmp_path, "--no-auth", "--mcp-config", config(tmp_path, "per-session")) as served:
        await until(served, 1)
        first, second = await opened(served), await opened(served)
        assert "one" in await echo(served, first, "one")
        assert "two" in await echo(served, second, "two")
        await until(served, 3)
        await ask(served.port, first.delete())
        await until(served, 2)
        assert "three" in await echo(served, second, "three")


@requirement("POOL-23")
async def test_a_shared_server_is_one_for_all(tmp_path: Path) -> None:
    with gateway(tmp_path, "--no-auth", "--mcp-config", config(tmp_path, "shared")) as served:
        await until(served, 1)
        for token in ("one", "two"):
            assert token in await echo(served, await opened(served), token)
        assert children(served) == 1

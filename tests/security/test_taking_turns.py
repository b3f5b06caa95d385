"""One caller who wants everything, and another who wants little: calls without end keep nobody else out."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from clawft.link.http_in.head import Limits
from clawft.link.share.gate import MAX_QUEUED, MAX_RUNNING
from tests.requirements import requirement
from tests.security.siege import honest
from tests.security.well import is_well
from tests.servers.raw_http import PATIENCE_S, Line, ask, connect, modern, modern_call, open_session
from tests.servers.weft import RSS_LIMIT, Served, gateway, peak_memory

pytestmark = pytest.mark.slow

ALL_PLACES = MAX_RUNNING + MAX_QUEUED
INFO = "io.modelcontextprotocol/clientInfo"
SMALL = 64 * 1024

Make = Callable[[int, str, dict[str, str]], bytes]
"""One call as the bytes of its caller."""


@asynccontextmanager
async def sent(served: Served, requests: list[bytes]) -> AsyncGenerator[list[Line]]:
    """Each on a connection of its own, which stays open."""
    async with AsyncExitStack() as stack:
        lines: list[Line] = []
        for request in requests:
            lines.append(await stack.enter_async_context(connect(served.port, longest=SMALL)))
            await lines[-1].send(request)
        yield lines


async def callers(served: Served, era: str) -> tuple[Make, Make]:
    """Two of them: with sessions, or without one and known only by the name they give."""
    if era == "handshake":
        one, other = await open_session(served.port), await open_session(served.port)
        return one.call, other.call

    def named(name: str) -> Make:
        info = {INFO: {"name": name, "version": "1"}}
        return lambda id, tool, arguments: modern_call(served.port, id, tool, arguments, **info)

    return named("greedy"), named("modest")


async def until_listed(served: Served, tool: bytes) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while tool not in (await ask(served.port, modern(served.port, 1, "tools/list"))).body:
            pass


async def until_full(lines: list[Line]) -> str:
    """What the first of those is told for whom there is no place."""
    waiting = [asyncio.ensure_future(_outcome(line)) for line in lines]
    async with asyncio.timeout(PATIENCE_S):
        done, rest = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for each in rest:
        each.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    return next(each.result() for each in done)


async def _outcome(line: Line) -> str:
    try:
        answer = await line.answer()
    except ConnectionResetError:  # it was still sending when it was turned away
        return "turned away"
    return f"{answer.status} {answer.body.decode()}"


@requirement("QUAL-12")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_calls_without_end_do_not_keep_others_from_the_same_server(tmp_path: Path, era: str) -> None:
    told = json.dumps({"mcpServers": {"one": honest("one")}})
    with gateway(tmp_path, "--no-auth", "--mcp-config", told) as served:
        await until_listed(served, b"one__hold")
        greedy, modest = await callers(served, era)
        file = str(tmp_path / "never")
        async with sent(served, [greedy(id, "one__hold", {"file": file}) for id in range(ALL_PLACES + 20)]) as lines:
            assert "busy" in await until_full(lines)
            for id in range(20):
                answer = await ask(served.port, modest(id, "one__echo", {"text": "x"}))
                assert b"one: x" in answer.body
            together = await asyncio.gather(
                *(ask(served.port, modest(id, "one__echo", {"text": "y"})) for id in range(20))
            )
            assert all(b"one: y" in answer.body for answer in together)
        (tmp_path / "never").touch()
        assert peak_memory(served.pid) < RSS_LIMIT


@requirement("QUAL-12")
async def test_calls_without_end_on_all_connections_leave_room_for_short_ones(tmp_path: Path) -> None:
    with gateway(tmp_path, "--no-auth") as served:
        wait = modern_call(served.port, 1, "probe__wait", {"token": "x", "seconds": 60})
        async with sent(served, [wait] * (Limits().connections + 50)) as lines:
            assert (await until_full(lines)).startswith(("503", "turned away"))
            async with asyncio.timeout(PATIENCE_S):
                while not await _is_served(served):  # not before some have overstayed
                    pass
            for _ in range(20):
                await is_well(served.port)
        assert peak_memory(served.pid) < RSS_LIMIT


async def _is_served(served: Served) -> bool:
    try:
        return (await ask(served.port, modern(served.port, 1, "tools/list"))).status == 200
    except (ConnectionError, EOFError):
        return False

"""A client on a pipe whose requests all wait for its own next words: those words are read, whatever is in flight."""

import asyncio
import itertools
from pathlib import Path

import pytest

from clawft.gateway.backpressure import STILL_SECONDS
from clawft.gateway.running_requests import MAX_IN_FLIGHT
from tests.requirements import requirement
from tests.servers.pipe import Json, Pipe, call, cancelled, mcp_server, modern_meta, request, text_of

pytestmark = pytest.mark.slow

SOON_S = 3 * STILL_SECONDS
"""On a busy machine."""
BEYOND = 50
LISTEN = {"notifications": {"toolsListChanged": True}, "_meta": modern_meta()}


async def until_told(pipe: Pipe, method: str, count: int) -> None:
    for _ in range(count):
        while (await pipe.read()).get("method") != method:
            pass


async def answered(pipe: Pipe) -> Json:
    """A call, made again as long as those that were cancelled are still on their way out."""
    for number in itertools.count():
        await pipe.send(call(f"c{number}", "probe__echo", {"token": "here"}, _meta=modern_meta()))
        answer = await pipe.answer(f"c{number}")
        if "result" in answer:
            return answer
        assert "busy" in answer["error"]["message"]
    raise AssertionError


@requirement("SHELL-12", "QUAL-12")
async def test_listens_that_fill_a_pipe_can_be_ended(tmp_path: Path) -> None:
    """None of them ends by itself. Those beyond the limit are busy, and the word that ends the others is heard."""
    async with mcp_server(tmp_path) as pipe, asyncio.timeout(SOON_S):
        await pipe.send(*(request(f"l{number}", "subscriptions/listen", LISTEN) for number in range(MAX_IN_FLIGHT)))
        await until_told(pipe, "notifications/subscriptions/acknowledged", MAX_IN_FLIGHT)
        await pipe.send(*(request(f"m{number}", "subscriptions/listen", LISTEN) for number in range(BEYOND)))
        for number in range(BEYOND):
            assert "busy" in (await pipe.answer(f"m{number}"))["error"]["message"]
        await pipe.send(*(cancelled(f"l{number}") for number in range(MAX_IN_FLIGHT)))
        assert "here" in text_of(await answered(pipe))

"""Ten thousand calls while their servers are killed at random: one answer for each, and never somebody else's."""

import asyncio
import itertools
import json
import random
import sys
from pathlib import Path

import psutil
import pytest

from tests.requirements import requirement
from tests.servers.pipe import Json, Pipe, call, mcp_server

pytestmark = pytest.mark.slow

HONEST = Path(__file__).parents[1] / "servers" / "honest.py"
SERVERS = [f"s{number}" for number in range(6)]
CALLS = 10_000
AT_ONCE = 64
KILLS = 3
"""Of each server: fewer than make weft give up on it."""
PATIENCE_S = 240.0


def config() -> str:
    return json.dumps({"mcpServers": {name: {"command": sys.executable, "args": [str(HONEST)]} for name in SERVERS}})


def servers_of(weft: int) -> list[psutil.Process]:
    """The servers themselves, not what confines them."""
    return [child for child in psutil.Process(weft).children(recursive=True) if _is_server(child)]


def _is_server(process: psutil.Process) -> bool:
    try:
        return process.cmdline()[:2] == [sys.executable, str(HONEST)]
    except psutil.Error:  # it ended while we looked
        return False


async def kill_now_and_then(weft: int, dice: random.Random) -> int:
    """How many were hit."""
    hit = 0
    for _ in range(KILLS * len(SERVERS)):
        await asyncio.sleep(dice.uniform(0.02, 0.4))
        alive = servers_of(weft)
        if alive:
            dice.choice(alive).kill()
            hit += 1
    return hit


async def all_listed(pipe: Pipe) -> None:
    wanted = {f"{name}__echo" for name in SERVERS}
    while not wanted <= {tool["name"] for tool in (await pipe.ask("tools/list"))["result"]["tools"]}:
        continue  # asking takes its time


async def next_answer(pipe: Pipe) -> Json:
    while "method" in (read := await pipe.read()):
        continue  # news of lists that have changed
    return read


@requirement("POOL-24", "SESS-15", "LINK-08")
async def test_nothing_is_answered_twice_or_crosswise(tmp_path: Path) -> None:
    dice = random.Random(7)
    async with mcp_server(tmp_path, "--no-builtin", "--mcp-config", config()) as pipe, asyncio.timeout(PATIENCE_S):
        await pipe.open()
        await all_listed(pipe)
        killing = asyncio.create_task(kill_now_and_then(pipe.process.pid, random.Random(8)))
        unsent, in_flight = iter(range(1, CALLS + 1)), set[int]()
        lost = 0
        for _ in range(CALLS):
            fresh = list(itertools.islice(unsent, AT_ONCE - len(in_flight)))
            named = [f"{dice.choice(SERVERS)}__{dice.choice(['echo', 'safe'])}" for _ in fresh]
            await pipe.send(
                *(call(id, name, {"token": f"token of {id}"}) for id, name in zip(fresh, named, strict=True))
            )
            in_flight |= set(fresh)
            answer = await next_answer(pipe)
            in_flight.remove(answer["id"])  # a second answer, or one nobody asked for, ends the test here
            lost += judged(answer)
        assert not in_flight
        assert await killing >= KILLS
        for number, name in enumerate(SERVERS):  # all of them are back
            await pipe.send(call(f"again {number}", f"{name}__safe", {"token": name}))
            assert judged(await pipe.answer(f"again {number}"), name) == 0
    assert 0 < lost < CALLS / 10  # none would mean that nothing was hit in the middle of a call


def judged(answer: Json, token: str = "") -> bool:
    """True if it was lost: then it says so, and the server is named."""
    result = answer["result"]
    (block,) = result["content"]
    if result.get("isError"):
        assert block["text"].split(":")[0] in SERVERS
        return True
    assert block["text"] == (token or f"token of {answer['id']}")
    return False

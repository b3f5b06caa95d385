"""Many calls at once on one connection: answered as they finish, each with its own answer and nobody else's."""

import asyncio
import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.pipe import Json, call, mcp_server, modern_meta, text_of
from tests.servers.raw_http import connect, modern_call, open_session
from tests.servers.weft import gateway

pytestmark = pytest.mark.slow

CALLS = 2_000
AT_ONCE = 64
SLOW_S = 1.0
PATIENCE_S = 60.0
ERAS = ["handshake", "stateless"]


def durations(count: int) -> list[float]:
    """Mostly at once, some a little later, in an order that is the same every time."""
    draw = random.Random(8)
    return [draw.choice([0, 0, 0.002, 0.005, 0.02]) for _ in range(count)]


def meta_of(era: str) -> Json:
    return {"_meta": modern_meta()} if era == "stateless" else {}


@requirement("SHELL-12", "WIRE-05")
@pytest.mark.parametrize("era", ERAS)
async def test_calls_on_one_pipe_never_cross(tmp_path: Path, era: str) -> None:
    async with mcp_server(tmp_path) as pipe, asyncio.timeout(PATIENCE_S):
        if era == "handshake":
            await pipe.open()
        ids = [id if id % 2 else str(id) for id in range(CALLS)]
        waits = dict(zip(ids, durations(CALLS), strict=True))
        unsent, open_ids = iter(ids), set[int | str]()
        for _ in range(CALLS):
            fresh = list(itertools.islice(unsent, AT_ONCE - len(open_ids)))
            arguments = [{"token": f"token of {id!r}", "seconds": waits[id]} for id in fresh]
            await pipe.send(
                *(call(id, "probe__wait", a, **meta_of(era)) for id, a in zip(fresh, arguments, strict=True))
            )
            open_ids |= set(fresh)
            answer = await pipe.read()
            open_ids.remove(answer["id"])
            assert text_of(answer) == f"token of {answer['id']!r}"
        assert not open_ids


@requirement("SHELL-12")
@pytest.mark.parametrize("era", ERAS)
async def test_a_slow_call_delays_no_other_on_its_pipe(tmp_path: Path, era: str) -> None:
    async with mcp_server(tmp_path) as pipe, asyncio.timeout(PATIENCE_S):
        if era == "handshake":
            await pipe.open()
        await pipe.send(call("slow", "probe__wait", {"token": "slow", "seconds": SLOW_S}, **meta_of(era)))
        steps = [step / AT_ONCE * SLOW_S / 2 for step in reversed(range(AT_ONCE))]
        await pipe.send(
            *(
                call(id, "probe__wait", {"token": str(id), "seconds": seconds}, **meta_of(era))
                for id, seconds in enumerate(steps)
            )
        )
        order = [(await pipe.read())["id"] for _ in range(AT_ONCE + 1)]
        assert order[-1] == "slow"
        assert order[0] > AT_ONCE / 2, "the shortest came last in and must be among the first out"


@requirement("SHELL-12", "WIRE-05")
@pytest.mark.parametrize("era", ERAS)
async def test_calls_over_http_never_cross(tmp_path: Path, era: str) -> None:
    with gateway(tmp_path, "--no-auth") as served:
        session = await open_session(served.port)
        waits = iter(list(enumerate(durations(CALLS))))

        def stateless_call(id: int, arguments: Json) -> bytes:
            return modern_call(served.port, id % 7, "probe__wait", arguments)

        def session_call(id: int, arguments: Json) -> bytes:
            return session.call(id, "probe__wait", arguments)

        encode = stateless_call if era == "stateless" else session_call
        async with asyncio.timeout(PATIENCE_S):
            answered = await asyncio.gather(*(_client(served.port, encode, waits) for _ in range(AT_ONCE)))
        assert sum(answered) == CALLS


async def _client(port: int, encode: Callable[[int, Json], bytes], waits: Iterator[tuple[int, float]]) -> int:
    """One connection that takes the next call as soon as it has its answer; how many it got."""
    answered = 0
    async with connect(port) as line:
        for id, seconds in waits:
            answer = await line.ask(encode(id, {"token": f"token {id}", "seconds": seconds}))
            assert text_of(answer.messages()[-1]) == f"token {id}"
            answered += 1
    return answered

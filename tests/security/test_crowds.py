"""Clients over HTTP who are each within bounds, and too many together: memory holds, and small calls are served."""

import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from clawft.link.share.admission import WAIT_SECONDS
from tests.requirements import requirement
from tests.security.neighbours import from_neighbour
from tests.security.well import in_flight, is_well
from tests.servers.pipe import Json
from tests.servers.raw_http import PATIENCE_S, ask, connect, head, message, modern, modern_call, open_session
from tests.servers.weft import RSS_LIMIT, Served, gateway, peak_memory

pytestmark = pytest.mark.slow

MEGABYTE = 1024 * 1024
BODY = 4 * MEGABYTE
MANY = 60
NEIGHBOURS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")


@pytest.fixture
def fresh(tmp_path: Path) -> Generator[Served]:
    """One for each test, as the peak of its memory is what counts."""
    with gateway(tmp_path, "--no-auth") as running:
        yield running
        assert peak_memory(running.pid) < RSS_LIMIT, f"{peak_memory(running.pid) // MEGABYTE} MiB"


@requirement("QUAL-12")
async def test_many_halves_of_large_bodies(fresh: Served) -> None:
    told = {"Content-Type": "application/json", "Accept": "*/*", "Content-Length": str(BODY)}
    half = head(fresh.port, "POST", told) + b"x" * (BODY - 1)
    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(connect(fresh.port)) for _ in range(MANY)]
        await asyncio.gather(*(line.send(half) for line in lines))
        for _ in range(20):
            await is_well(fresh.port)


@requirement("QUAL-12")
async def test_many_large_calls(fresh: Served) -> None:
    """More than can be carried at once wait for a while; each has exactly one answer, and later there is room."""
    large = modern_call(fresh.port, 1, "probe__wait", {"token": "x" * (BODY - 1024), "seconds": 1})
    answers = await asyncio.gather(*(ask(fresh.port, large) for _ in range(MANY)))
    seen = Counter(answer.status for answer in answers)
    assert set(seen) == {200, 503}
    assert seen[200] >= WAIT_SECONDS / 2
    assert (await ask(fresh.port, large)).status == 200


@requirement("QUAL-12")
@pytest.mark.parametrize("form", ["calls", "halves"])
async def test_large_calls_of_some_leave_room_for_those_of_another(fresh: Served, form: str) -> None:
    """Three neighbours flood, with calls that take a while or bodies that never end. Whoever else comes is served."""
    slow = modern_call(fresh.port, 1, "probe__wait", {"token": "x" * (BODY - 1024), "seconds": 1})
    sent = slow if form == "calls" else slow[:-1]
    own = modern_call(fresh.port, 1, "probe__wait", {"token": "y" * (BODY - 1024), "seconds": 0})
    async with asyncio.TaskGroup() as group:
        flood = [group.create_task(_again_and_again(fresh.port, sent, NEIGHBOURS[n % 3])) for n in range(MANY // 2)]
        for _ in range(20):
            await is_well(fresh.port)
        for _ in range(3):
            assert (await ask(fresh.port, own)).status == 200
        for task in flood:
            task.cancel()


async def _again_and_again(port: int, sent: bytes, address: str) -> None:
    while True:
        async with from_neighbour(port, address) as line:
            try:
                await line.ask(sent)
            except (OSError, EOFError):  # refused before it was all sent
                continue


@requirement("QUAL-12", "SHELL-19")
async def test_many_events_kept_for_many_sessions(fresh: Served) -> None:
    """Each stream that could be resumed keeps what was said on it; all of them keep no more than one can afford."""
    flood = {"count": 900, "size": 4_000}
    for _ in range(8):
        session = await open_session(fresh.port)
        for number in range(8):
            async with connect(fresh.port) as line:
                await line.send(session.call(number, "probe__flood", flood, _meta={"progressToken": "p"}))
                assert (await line.answer()).status == 200
    await is_well(fresh.port)


@requirement("QUAL-12", "SHELL-19")
async def test_many_streams_that_nobody_reads(fresh: Served) -> None:
    flood = {"count": 900, "size": 4_000}
    async with AsyncExitStack() as stack:
        for _ in range(MANY):
            session = await open_session(fresh.port)
            line = await stack.enter_async_context(connect(fresh.port, longest=1024))
            await line.send(session.call(1, "probe__flood", flood, _meta={"progressToken": "p"}))
        async with asyncio.timeout(PATIENCE_S):
            while await in_flight(fresh.port):  # all was said
                await is_well(fresh.port)


@requirement("QUAL-12", "SHELL-17")
async def test_many_listens_for_many_resources(fresh: Served) -> None:
    async with AsyncExitStack() as stack:
        for number in range(2 * MANY):
            uris = [f"tiny://{number}/{one}/{'x' * 100}" for one in range(1_000)]
            wanted: Json = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": uris}}
            line = await stack.enter_async_context(connect(fresh.port))
            await line.send(modern(fresh.port, "l", "subscriptions/listen", wanted))
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(20):
                await is_well(fresh.port)


@requirement("QUAL-12")
async def test_an_id_of_a_megabyte_is_an_id(fresh: Served) -> None:
    """No pattern is matched over it letter by letter, each with a place to come back to."""
    before = peak_memory(fresh.pid)
    answer = await ask(fresh.port, modern_call(fresh.port, "x" * MEGABYTE, "probe__echo", {"token": "well"}))
    assert answer.json()["result"]["structuredContent"] == {"token": "well"}
    assert peak_memory(fresh.pid) < before + 50 * MEGABYTE


@requirement("QUAL-12")
async def test_what_many_say_of_themselves_is_not_remembered_at_any_length(fresh: Served) -> None:
    for number in range(60):
        about = {"name": f"{number}" + "x" * 3 * MEGABYTE, "version": "1"}
        told = {"io.modelcontextprotocol/clientInfo": about}
        answer = await ask(fresh.port, modern_call(fresh.port, 1, "probe__echo", {"token": "well"}, **told))
        assert answer.status == 200


@requirement("QUAL-12", "SHELL-19")
async def test_what_is_watched_has_a_short_name(fresh: Served) -> None:
    """A thousand subscriptions of each session are allowed, and kept; not with names of 100 KB."""
    session = await open_session(fresh.port)
    async with connect(fresh.port) as line:
        for size, code in ((100_000, -32602), (1_000, None)):
            asked = message(size, "resources/subscribe", {"uri": "tiny://" + "u" * size})
            assert (await line.ask(session.post(asked))).code == code
    await is_well(fresh.port)

"""Clients over HTTP that leave, stall or come in masses: their calls end as their era says, all others are served."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.security.well import in_flight
from tests.servers.pipe import Json
from tests.servers.probe import CANCELLED, ENDED, STARTED
from tests.servers.raw_http import (
    PATIENCE_S,
    Line,
    Session,
    ask,
    connect,
    head,
    message,
    modern,
    modern_call,
    open_session,
)
from tests.servers.weft import RSS_LIMIT, Served, children_named, is_gone, peak_memory

pytestmark = pytest.mark.slow

AT_ONCE_S = 2.0
SHORT = 16 * 1024
"""A reader with so little room stops reading by itself after twice as much."""
IDLE = 300
SESSIONS = 1_000
"""As many as the gateway keeps."""
HEAD_S = 10.0
"""How long a request head may take."""


async def is_served(port: int) -> None:
    async with asyncio.timeout(AT_ONCE_S):
        answer = await ask(port, modern_call(port, 1, "probe__echo", {"token": "well"}))
    assert answer.json()["result"]["structuredContent"] == {"token": "well"}


async def until(port: int, happened: Callable[[], bool]) -> None:
    """Ask again and again, each time after one more request was served."""
    async with asyncio.timeout(PATIENCE_S):
        while not happened():
            await is_served(port)


def left(folder: Path, mark: str, what: str) -> Callable[[], bool]:
    return (folder / f"{mark}.{what}").exists


# ── leaving in the middle of a call ──────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-18")
async def test_a_stateless_client_that_leaves_cancels_its_call(served: Served, workspace_of_all: Path) -> None:
    async with connect(served.port) as line:
        await line.send(modern_call(served.port, 1, "probe__hold", {"mark": "gone", "seconds": 600}))
        await until(served.port, left(workspace_of_all, "gone", STARTED))
        line.leave()
    await until(served.port, left(workspace_of_all, "gone", CANCELLED))


@requirement("SHELL-18")
async def test_a_stateless_client_that_leaves_its_stream_cancels_its_call(served: Served) -> None:
    """The answer had already become a stream, with progress on it."""
    async with connect(served.port) as line:
        flood = {"count": 10_000_000, "size": 10}
        await line.send(modern_call(served.port, 1, "probe__flood", flood, progressToken="p"))
        assert (await line.answer_head())[0] == 200
        assert await in_flight(served.port) == 1
        line.leave()
    async with asyncio.timeout(AT_ONCE_S):
        while await in_flight(served.port):
            await is_served(served.port)


@requirement("SHELL-17", "SHELL-18", "QUAL-13")
async def test_a_subscriber_that_leaves_is_forgotten(served: Served) -> None:
    async with connect(served.port) as line:
        listen: Json = {"notifications": {"toolsListChanged": True}}
        await line.send(modern(served.port, "l", "subscriptions/listen", listen))
        assert (await line.answer_head())[0] == 200
        assert await in_flight(served.port) == 1
        line.leave()
    async with asyncio.timeout(AT_ONCE_S):
        while await in_flight(served.port):
            await is_served(served.port)


@requirement("SHELL-18", "QUAL-13")
async def test_the_child_of_a_call_ends_with_its_client(served: Served) -> None:
    async with connect(served.port) as line:
        await line.send(modern_call(served.port, 1, "shell__exec", {"command": "sleep 600"}))
        await until(served.port, lambda: bool(children_named(served.pid, "sleep")))
        (child,) = children_named(served.pid, "sleep")
        line.leave()
    await until(served.port, lambda: is_gone(child))


@requirement("SHELL-19")
async def test_a_session_that_loses_its_connection_keeps_its_call(served: Served, workspace_of_all: Path) -> None:
    session = await open_session(served.port)
    async with connect(served.port) as line:
        await line.send(session.call(1, "probe__hold", {"mark": "kept", "seconds": 0.5}))
        await until(served.port, left(workspace_of_all, "kept", STARTED))
        line.leave()
    await until(served.port, left(workspace_of_all, "kept", ENDED))
    assert not left(workspace_of_all, "kept", CANCELLED)()


@requirement("SHELL-19", "WIRE-05")
async def test_a_session_cancels_by_saying_so(served: Served, workspace_of_all: Path) -> None:
    session = await open_session(served.port)
    async with connect(served.port) as line:
        await line.send(session.call("c", "probe__hold", {"mark": "told", "seconds": 600}))
        await until(served.port, left(workspace_of_all, "told", STARTED))
        cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}'
        assert (await ask(served.port, session.post(cancel))).status == 202
        await until(served.port, left(workspace_of_all, "told", CANCELLED))


@requirement("SHELL-19", "QUAL-13")
async def test_the_end_of_a_session_ends_its_calls(served: Served, workspace_of_all: Path) -> None:
    session = await open_session(served.port)
    async with connect(served.port) as line:
        await line.send(session.call(1, "probe__hold", {"mark": "deleted", "seconds": 600}))
        await until(served.port, left(workspace_of_all, "deleted", STARTED))
        assert (await ask(served.port, session.delete())).status == 204
        await until(served.port, left(workspace_of_all, "deleted", CANCELLED))


# ── stalling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-12")
async def test_a_reader_that_stalls_costs_bounded_memory_and_nobody_elses_time(served: Served) -> None:
    flood: Json = {"count": 30_000, "size": 4_000}
    session = await open_session(served.port)
    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(connect(served.port, longest=SHORT)) for _ in range(2)]
        await lines[0].send(modern_call(served.port, 1, "probe__flood", flood, progressToken="p"))
        await lines[1].send(session.call(1, "probe__flood", flood, _meta={"progressToken": "p"}))
        for _ in range(200):
            await is_served(served.port)
        assert peak_memory(served.pid) < RSS_LIMIT
        for line in lines:
            line.leave()
    await is_served(served.port)


@requirement("QUAL-12")
async def test_idle_and_half_said_connections_keep_nobody_from_being_served(served: Served) -> None:
    half = head(served.port, "POST", {"Content-Length": "100"})
    begun = [b"", b"P", half[:-10], half, half + b'{"jsonrpc"']
    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(connect(served.port)) for _ in range(IDLE)]
        for number, line in enumerate(lines):
            await line.send(begun[number % len(begun)])
        for _ in range(50):
            await is_served(served.port)
        session = await open_session(served.port)
        assert (await ask(served.port, session.post(message(1, "ping")))).status == 200
        await _is_told_that_it_is_late(lines[2])
        await is_served(served.port)


async def _is_told_that_it_is_late(line: Line) -> None:
    """A head that does not end is answered with 408, or cut, soon after its time."""
    async with asyncio.timeout(2 * HEAD_S):
        assert (await line.answer()).status == 408
        assert await line.is_closed()


# ── masses ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-12", "SHELL-19")
async def test_more_sessions_than_are_kept_push_out_the_oldest(served: Served) -> None:
    first = await open_session(served.port)
    busy = await open_session(served.port)
    async with connect(served.port) as line:
        await line.send(busy.call(1, "probe__wait", {"token": "still here", "seconds": 3}))
        await _open_many(served.port, SESSIONS + 50)
        newest = await open_session(served.port)
        assert (await ask(served.port, newest.post(message(1, "ping")))).status == 200
        assert (await ask(served.port, first.post(message(1, "ping")))).status == 404
        assert (await line.answer()).messages()[-1]["result"]["content"][0]["text"] == "still here"
    assert peak_memory(served.pid) < RSS_LIMIT


async def _open_many(port: int, count: int) -> None:
    async def open_some(share: int) -> list[Session]:
        return [await open_session(port) for _ in range(share)]

    await asyncio.gather(*(open_some(count // 10) for _ in range(10)))

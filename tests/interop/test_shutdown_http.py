"""How `weft gateway` ends: running calls finish, streams end in good order, nothing is left behind."""

import asyncio
import signal
from collections.abc import Generator
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest

from tests.requirements import requirement
from tests.servers.pipe import Json
from tests.servers.raw_http import PATIENCE_S, Answer, Line, ask, connect, head, modern, modern_call, open_session
from tests.servers.weft import STOP_S, Served, children_named, gateway, is_gone

pytestmark = pytest.mark.slow

AT_ONCE_S = 3.0
TOO_LATE = "shutting down: the call did not finish in time"
SIGNALS = [signal.SIGTERM, signal.SIGINT]


@pytest.fixture
def served(tmp_path: Path) -> Generator[Served]:
    with gateway(tmp_path, "--no-auth") as running:
        yield running


async def exit_status(served: Served, seconds: float = STOP_S) -> int:
    return await asyncio.to_thread(served.process.wait, seconds)


def exit_code(number: signal.Signals) -> int:
    """Of who ends in good order after it."""
    return 130 if number is signal.SIGINT else 0


async def until_it_drains(port: int) -> None:
    """Who asks on a connection of its own, as a load balancer does, is told once the signal has been heard."""
    async with asyncio.timeout(PATIENCE_S):
        while (await ask(port, head(port, "GET", {}, "/readyz"))).status != 503:
            pass


async def start_child(served: Served, line: Line) -> psutil.Process:
    await line.send(modern_call(served.port, 1, "shell__exec", {"command": "sleep 600"}))
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for child in children_named(served.pid, "sleep"):
                return child
            await ask(served.port, modern(served.port, 1, "tools/list"))


@requirement("SHELL-16", "QUAL-13")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
async def test_running_calls_of_both_eras_finish_and_new_ones_are_refused(
    served: Served, number: signal.Signals
) -> None:
    port = served.port
    session = await open_session(port)
    wait: Json = {"token": "finished", "seconds": 1.5}
    async with connect(port) as one, connect(port) as two:
        await one.send(modern_call(port, 1, "probe__wait", wait))
        await two.send(session.call(1, "probe__wait", wait))
        await ask(port, modern(port, 2, "tools/list"))
        served.process.send_signal(number)
        await until_it_drains(port)
        assert (await ask(port, head(port, "GET", {}, "/healthz"))).status == 200
        assert "shutting down" in (await ask(port, modern_call(port, 3, "probe__wait", wait))).body.decode()
        for line in (one, two):
            (message,) = (await line.answer()).messages()
            assert message["result"]["content"][0]["text"] == "finished"
            assert await line.is_closed()
    assert await exit_status(served) == exit_code(number)
    assert not [line for line in served.lines if "Traceback" in line or "Error" in line]


@requirement("SHELL-16", "SHELL-17")
async def test_open_streams_end_in_good_order(served: Served) -> None:
    port = served.port
    session = await open_session(port)
    async with connect(port) as listener, connect(port) as reader, connect(port) as idle:
        await listener.send(modern(port, "l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
        await reader.send(session.get())
        status, _ = await reader.answer_head()
        assert status == 200
        await ask(port, modern(port, 2, "tools/list"))
        served.process.terminate()
        acknowledged, ended = (await listener.answer()).messages()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert ended["id"] == "l"
        assert ended["result"]["resultType"] == "complete"
        assert [chunk async for chunk in reader.chunks()] == []
        assert await idle.is_closed()
    assert await exit_status(served, AT_ONCE_S) == 0


@requirement("SHELL-16", "SHELL-17", "QUAL-13")
async def test_calls_that_do_not_end_in_time_are_told_so_where_they_listen(served: Served) -> None:
    """On the stream of those that have one; and who waits for news hears a clean end."""
    port = served.port
    session = await open_session(port)
    wait: Json = {"token": "never", "seconds": 600}
    async with AsyncExitStack() as lines:
        streamed, lone, in_session, plain, reader = [await lines.enter_async_context(connect(port)) for _ in range(5)]
        await streamed.send(modern_call(port, 1, "probe__wait", wait, progressToken="a"))
        await in_session.send(session.call(1, "probe__wait", wait, _meta={"progressToken": "b"}))
        for line in (streamed, in_session):
            assert (await line.answer_head())[1]["content-type"] == "text/event-stream"
        await lone.send(modern_call(port, 2, "probe__wait", wait))
        await plain.send(session.call(2, "probe__wait", wait))
        await reader.send(session.get())
        assert (await reader.answer_head())[0] == 200
        await ask(port, modern(port, 3, "tools/list"))
        served.process.terminate()
        for line in (streamed, in_session):
            *_, last = sse_messages(b"".join([chunk async for chunk in line.chunks()]))
            assert (last["id"], TOO_LATE in last["error"]["message"]) == (1, True)
        for line in (lone, plain):
            (last,) = (await line.answer()).messages()
            assert (last["id"], TOO_LATE in last["error"]["message"]) == (2, True)
        assert [chunk async for chunk in reader.chunks()] == []
    assert await exit_status(served) == 0


def sse_messages(body: bytes) -> list[Json]:
    return Answer(200, {"content-type": "text/event-stream"}, body).messages()


@requirement("SHELL-16", "QUAL-12", "QUAL-13")
async def test_what_takes_too_long_is_ended_with_its_children(served: Served) -> None:
    async with connect(served.port) as line:
        child = await start_child(served, line)
        served.process.terminate()
        assert await exit_status(served) == 0
    assert is_gone(child)


@requirement("SHELL-16", "QUAL-13")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
async def test_a_second_signal_ends_it_at_once_with_its_children(served: Served, number: signal.Signals) -> None:
    async with connect(served.port) as line:
        child = await start_child(served, line)
        served.process.send_signal(number)
        await until_it_drains(served.port)
        served.process.send_signal(number)
        assert await exit_status(served, AT_ONCE_S) == 128 + number
    assert is_gone(child)
    assert not [line for line in served.lines if "Traceback" in line]


@requirement("SHELL-16", "QUAL-13")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
async def test_calls_that_a_second_signal_ends_are_told_that_we_stop(served: Served, number: signal.Signals) -> None:
    session = await open_session(served.port)
    wait: Json = {"token": "never", "seconds": 600}
    async with connect(served.port) as lone, connect(served.port) as plain:
        await lone.send(modern_call(served.port, 2, "probe__wait", wait))
        await plain.send(session.call(2, "probe__wait", wait))
        await ask(served.port, modern(served.port, 3, "tools/list"))
        served.process.send_signal(number)
        await until_it_drains(served.port)
        served.process.send_signal(number)
        for line in (lone, plain):
            answer = await line.answer()
            (last,) = answer.messages()
            assert (last["id"], TOO_LATE in last["error"]["message"]) == (2, True)
    assert await exit_status(served, AT_ONCE_S) == 128 + number

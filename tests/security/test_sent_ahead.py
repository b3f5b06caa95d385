"""Clients that send one request after the other and wait for no answer: bounded in memory, and last in the queue."""

import asyncio
import socket
from collections.abc import Generator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import psutil
import pytest

from clawft.link.http_in.head import Limits
from tests.requirements import requirement
from tests.security.well import in_flight, is_well
from tests.servers.pipe import Json
from tests.servers.raw_http import LOOPBACK, PATIENCE_S, Line, connect, modern, modern_call
from tests.servers.weft import RSS_LIMIT, Served, gateway, peak_memory

pytestmark = pytest.mark.slow

MEGABYTE = 1024 * 1024
LISTEN: Json = {"notifications": {"toolsListChanged": True}}


@pytest.fixture
def fresh(tmp_path: Path) -> Generator[Served]:
    """One for each test, as the peak of its memory is what counts."""
    with gateway(tmp_path, "--no-auth") as running:
        yield running
        assert peak_memory(running.pid) < RSS_LIMIT, f"{peak_memory(running.pid) // MEGABYTE} MiB"


def deaf(port: int, stack: ExitStack) -> socket.socket:
    """A connection with hardly any room for what comes."""
    sock = stack.enter_context(socket.socket())
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect((LOOPBACK, port))
    sock.setblocking(False)
    return sock


async def push(sock: socket.socket, data: bytes, seconds: float) -> bool:
    """Whether all of it was taken in time."""
    try:
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().sock_sendall(sock, data)
    except (OSError, TimeoutError):
        return False
    return True


@requirement("QUAL-12")
async def test_answers_that_nobody_takes_are_not_made(fresh: Served) -> None:
    """Twenty clients ask for 600 MB together, in answers that are each too small to count."""
    asked = modern_call(fresh.port, 1, "probe__echo", {"token": "x" * 15_000}) * 1_000
    with ExitStack() as stack:
        socks = [deaf(fresh.port, stack) for _ in range(20)]
        await asyncio.gather(*(push(sock, asked, 5) for sock in socks))
        for _ in range(20):
            await is_well(fresh.port)


@requirement("QUAL-12")
async def test_what_is_sent_behind_a_running_request_has_a_bound_for_all(fresh: Served) -> None:
    """Each may send a little ahead; nine hundred of them would be too much together."""
    listen = modern(fresh.port, "l", "subscriptions/listen", LISTEN)
    with ExitStack() as stack:
        socks = [stack.enter_context(socket.create_connection((LOOPBACK, fresh.port))) for _ in range(900)]
        for sock in socks:
            sock.setblocking(False)
            await push(sock, listen, PATIENCE_S)
        for _ in range(3):
            await asyncio.gather(*(push(sock, b"x" * 400_000, 1) for sock in socks))
        for _ in range(20):
            await is_well(fresh.port)


@requirement("QUAL-12", "SHELL-18")
async def test_leaving_is_noticed_although_much_was_sent_ahead(fresh: Served) -> None:
    """We do not read on, and so are not told: looked after all the same, and its descriptor is given back."""
    before = psutil.Process(fresh.pid).num_fds()
    listen = modern(fresh.port, "l", "subscriptions/listen", LISTEN)
    with ExitStack() as stack:
        for _ in range(20):
            sock = stack.enter_context(socket.create_connection((LOOPBACK, fresh.port)))
            sock.setblocking(False)
            await push(sock, listen, PATIENCE_S)
            await push(sock, b"x" * 10 * MEGABYTE, 0.2)
        assert await in_flight(fresh.port) == 20
    async with asyncio.timeout(PATIENCE_S / 2):  # well before the next sign of life on the stream would tell
        while await in_flight(fresh.port):
            await is_well(fresh.port)
    assert psutil.Process(fresh.pid).num_fds() <= before + 2  # one of them where it can be asked for its servers


@requirement("QUAL-12", "SHELL-17")
async def test_those_who_only_listen_give_way_to_those_who_ask(fresh: Served) -> None:
    """As many listeners as there are connections: a newcomer is served, and the oldest listener has to come again."""
    async with AsyncExitStack() as stack:
        first: Line | None = None
        for _ in range(Limits().connections):
            line = await stack.enter_async_context(connect(fresh.port))
            await line.send(modern(fresh.port, "l", "subscriptions/listen", LISTEN))
            assert (await line.answer_head())[0] == 200
            first = first or line
        for _ in range(3):
            await is_well(fresh.port)
        assert first is not None
        async with asyncio.timeout(PATIENCE_S):
            try:
                await first.reader.read()
            except ConnectionResetError:
                pass

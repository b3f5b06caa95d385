"""Connections that wait for the next request: kept less long than by their server, and not used after their end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from clawft.errors import LinkClosed
from clawft.link.base import OutgoingRequest
from clawft.link.http_out import connector
from clawft.link.http_out.keep_alive import LONGEST_SECONDS, NONE_SECONDS, SILENT_SECONDS, SOON_SECONDS, KeepAlive
from clawft.link.http_out.link import HttpLink
from clawft.wire.jsonrpc.messages import Response
from tests.requirements import requirement
from tests.servers.raw_site import Asked, RawSite, listening, raw_site, read_asked

CALL = OutgoingRequest("tools/call", b"{}")


class Clock:
    """The one that connections are kept by."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(connector, "time", clock)
    monkeypatch.setattr("aiohttp.connector.monotonic", clock.monotonic)
    return clock


@asynccontextmanager
async def calling(*headers: str) -> AsyncGenerator[tuple[HttpLink, RawSite, list[Asked]]]:
    calls: list[Asked] = []

    async def vice(asked: Asked) -> None:
        calls.append(asked)
        await asked.answer({}, *headers)

    async with raw_site(vice) as site, linked(site) as link:
        yield link, site, calls


@asynccontextmanager
async def linked(site: RawSite) -> AsyncGenerator[HttpLink]:
    link = HttpLink(site.url)
    await link.open(lambda message, stream: None, lambda error: None)
    try:
        yield link
    finally:
        await link.close()


@requirement("LINK-20", "POOL-24")
async def test_a_connection_that_the_server_has_closed_is_not_used_though_the_loop_has_not_seen_it() -> None:
    async with calling() as (link, site, calls):
        await link.request(CALL)
        calls[0].hang_up()
        assert isinstance(await link.request(CALL), Response)
        assert (site.connections, len(calls)) == (2, 2)


@requirement("LINK-20")
@pytest.mark.parametrize(
    ("headers", "kept", "given_up"),
    [
        ((), SILENT_SECONDS - 1.1, SILENT_SECONDS - 0.9),
        (("Keep-Alive: timeout=30",), 28.9, 29.1),
        (("Keep-Alive: Timeout=1, max=100",), 0.4, 0.6),
        (("Keep-Alive: timeout=999999999",), LONGEST_SECONDS - 0.1, LONGEST_SECONDS + 0.1),
        (("Keep-Alive: max=100",), SILENT_SECONDS - 1.1, SILENT_SECONDS - 0.9),
    ],
)
async def test_a_connection_is_given_up_well_before_its_server_gives_it_up(
    headers: tuple[str, ...], kept: float, given_up: float, clock: Clock
) -> None:
    async with calling(*headers) as (link, site, _):
        await link.request(CALL)
        clock.now += kept
        await link.request(CALL)
        assert site.connections == 1
        clock.now += given_up
        await link.request(CALL)
        assert site.connections == 2


@requirement("LINK-20")
async def test_how_long_a_server_waits_that_does_not_say_it_is_learned_when_it_closes_one(clock: Clock) -> None:
    async with calling() as (link, site, calls):
        await link.request(CALL)
        clock.now += 2.0
        calls[0].hang_up()
        await link.request(CALL)
        clock.now += 0.9
        await link.request(CALL)
        assert site.connections == 2
        clock.now += 1.1
        await link.request(CALL)
        assert site.connections == 3


class Impatient(RawSite):
    """Answers one request on each connection, and leaves as it hears the next, without having said so."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._take(await read_asked(reader, writer))
            await read_asked(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def impatient() -> AsyncGenerator[tuple[HttpLink, Impatient]]:
    async def vice(asked: Asked) -> None:
        await asked.answer({})

    site = Impatient(vice)
    async with listening(site.serve) as origin:
        site.url = f"{origin}/mcp"
        async with linked(site) as link:
            yield link, site


@requirement("LINK-20", "POOL-24")
@pytest.mark.parametrize("method", ["tools/list", "notifications/initialized"])
async def test_what_only_asks_is_asked_again_where_its_connection_was_just_closed(method: str) -> None:
    async with impatient() as (link, site):
        await link.request(OutgoingRequest("ping"))
        if method == "tools/list":
            assert isinstance(await link.request(OutgoingRequest(method)), Response)
        else:
            await link.notify(method)
            assert link.refused_notice == ""
        for _ in range(3):  # and from now on each call has a connection of its own
            assert isinstance(await link.request(CALL), Response)
        assert [method, *["tools/call"] * 3] == [each for each in site.asked if each not in ("ping", "GET")]


@requirement("POOL-24")
async def test_a_call_is_not() -> None:
    async with impatient() as (link, site):
        await link.request(CALL)
        with pytest.raises(LinkClosed, match="it closed the connection"):
            await link.request(CALL)
        assert site.asked == ["tools/call"]


@requirement("LINK-20", "POOL-24")
async def test_a_call_that_was_lost_so_is_the_last_for_a_while(clock: Clock) -> None:
    async with impatient() as (link, site):
        await link.request(CALL)
        with pytest.raises(LinkClosed):
            await link.request(CALL)
        for _ in range(3):
            await link.request(CALL)
        assert site.connections == 4
        clock.now += NONE_SECONDS + 1
        await link.request(CALL)
        with pytest.raises(LinkClosed):  # a server that was only started again is not paid for with ever new ones
            await link.request(CALL)


@requirement("LINK-20")
async def test_a_server_that_leaves_while_it_works_has_met_no_request(clock: Clock) -> None:
    leaves = asyncio.Event()

    async def vice(asked: Asked) -> None:
        if b"leave" not in asked.head:
            await asked.answer({})
            return
        clock.now += SOON_SECONDS + 1  # a proxy in between takes a slow tool for a dead one
        asked.close()
        leaves.set()

    async with raw_site(vice) as site, linked(site) as link:
        await link.request(CALL)
        with pytest.raises(LinkClosed):
            await link.request(OutgoingRequest("tools/call", b"{}", "2026-07-28", "leave"))
        assert leaves.is_set()
        for _ in range(3):
            await link.request(CALL)
        assert site.connections == 2


@requirement("LINK-20")
async def test_a_server_that_leaves_a_new_connection_has_closed_none_that_was_kept() -> None:
    class LeavesOnce(RawSite):
        async def _take(self, asked: Asked) -> None:
            if self.connections == 1:
                asked.close()
            else:
                await super()._take(asked)

    site = LeavesOnce(lambda asked: asked.answer({}))
    async with listening(site.serve) as origin:
        site.url = f"{origin}/mcp"
        async with linked(site) as link:
            await link.request(OutgoingRequest("ping"))
            for _ in range(3):
                await link.request(CALL)
    assert site.connections == 2


@requirement("LINK-20")
@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\nContent-Ty", b"HTTP/1.1 100 Continue\r\n\r\n" * 100])
async def test_what_was_half_answered_is_not_asked_again(said: bytes) -> None:
    class Halfway(RawSite):
        async def _take(self, asked: Asked) -> None:
            self.asked.append(asked.message["method"])
            await asked.write(said)
            asked.close()

    site = Halfway(lambda asked: asked.answer({}))
    async with listening(site.serve) as origin:
        site.url = f"{origin}/mcp"
        async with linked(site) as link:
            with pytest.raises(LinkClosed):
                await link.request(OutgoingRequest("tools/list"))
    assert site.asked == ["tools/list"]


def test_a_server_that_was_stopped_teaches_nothing() -> None:
    keep_alive = KeepAlive()
    keep_alive.note_closed(0.001)
    assert keep_alive.seconds(0.0) == SILENT_SECONDS - 1


def test_one_that_was_stopped_late_is_found_out_as_another_lasts_longer() -> None:
    keep_alive = KeepAlive()
    keep_alive.note_closed(2.0)
    assert keep_alive.seconds(0.0) == 1.0
    keep_alive.note_open(1.9)
    assert keep_alive.seconds(0.0) == 1.0
    keep_alive.note_open(2.1)
    assert keep_alive.seconds(0.0) == SILENT_SECONDS - 1


def test_where_a_request_was_lost_nothing_waits_so_long_again() -> None:
    """Whatever is between us and the server may have forgotten the connection, and no longer tells."""
    keep_alive = KeepAlive()
    keep_alive.read_header("timeout=75")
    keep_alive.note_lost_request(40.0, 1000.0)
    assert keep_alive.seconds(1001.0) == 0.0
    keep_alive.note_open(50.0)
    assert keep_alive.seconds(1001.0 + NONE_SECONDS) == 39.0

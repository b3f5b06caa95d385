"""What one connection bears: broken framing, crumbs, and answers nobody has asked for."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import ref

import pytest
from aiohttp.client_proto import ResponseHandler

from clawft.errors import LinkError
from clawft.link.base import OutgoingRequest
from clawft.link.http_out.connector import MAX_FRAMING
from clawft.link.http_out.link import HttpLink
from clawft.link.share.unread_output import MAX_UNREAD_BYTES, UNREAD
from clawft.wire.jsonrpc.messages import Failure, Response
from tests.requirements import requirement
from tests.servers.raw_site import STREAM, Asked, RawSite, Vice, chunk, deaf_site, framed, message, raw_site

PATIENCE_S = 20.0
CALL = OutgoingRequest("tools/call", b"{}")
HELLO = OutgoingRequest("initialize", b"{}")
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def linked(vice: Vice, aside: Vice | None = None, *hello: str) -> AsyncGenerator[tuple[HttpLink, RawSite]]:
    async with asyncio.timeout(PATIENCE_S), raw_site(vice, aside, hello) as site:
        link = HttpLink(site.url)
        await link.open(lambda message, stream: None, lambda error: None)
        try:
            yield link, site
        finally:
            await link.close()


def said(answer: object) -> bytes:
    assert isinstance(answer, Response)
    return answer.result


@requirement("LINK-16")
@pytest.mark.parametrize("begun", [CHUNKED, STREAM])
@pytest.mark.parametrize("rest", [b"zzz\r\n", b"10000000000000000\r\n", b"5\r\nabcdeXX"])
async def test_framing_that_breaks_in_the_middle_is_told_at_once(begun: bytes, rest: bytes) -> None:
    """There is no deadline here: whoever waits would wait for ever."""

    async def vice(asked: Asked) -> None:
        await asked.write(begun + chunk(b"data: x\r\n\r\n"))
        await asyncio.sleep(0.05)
        await asked.write(rest)

    async with linked(vice) as (link, _):
        with pytest.raises(LinkError):
            await link.request(CALL)


@requirement("LINK-16")
async def test_what_comes_before_we_have_asked_is_no_answer() -> None:
    came = asyncio.Event()

    async def vice(asked: Asked) -> None:
        await asked.answer({"asked": True})
        if not came.is_set():
            await asked.write(framed(message(asked.id + 1, "forged")))
            came.set()

    async with linked(vice) as (link, site):
        assert b"forged" not in said(await link.request(CALL))
        await came.wait()
        await asyncio.sleep(0.1)  # it has to arrive; if it does not, this test sees nothing, and does not fail
        assert b"forged" not in said(await link.request(CALL))
        assert site.connections == 2


@requirement("LINK-16")
@pytest.mark.parametrize("size", [1, 7, 5000])
async def test_an_answer_in_crumbs_comes_whole(size: int) -> None:
    async def vice(asked: Asked) -> None:
        body = message(asked.id, "x" * 20_000)
        await asked.write(
            CHUNKED + b"".join(chunk(body[at : at + size]) for at in range(0, len(body), size)) + b"0\r\n\r\n"
        )

    async with linked(vice) as (link, _):
        for _ in range(2):
            assert len(said(await link.request(CALL))) > 20_000


@requirement("LINK-16")
async def test_crumbs_before_the_end_of_a_connection_are_not_lost() -> None:
    async def vice(asked: Asked) -> None:
        body = message(asked.id, "x" * 20_000)
        head = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        await asked.write(head + b"".join(chunk(bytes([each])) for each in body) + b"0\r\n\r\n")
        raise ConnectionError

    async with linked(vice) as (link, _):
        assert len(said(await link.request(CALL))) > 20_000


@requirement("LINK-16", "QUAL-12")
@pytest.mark.parametrize(
    ("first", "piece"),
    [(b"1;", b"x=y;" * 16_384), (b"", b"1;" + b"x" * 65_536 + b"\r\n \r\n")],
    ids=["one announced without end", "many, with a byte each"],
)
@pytest.mark.parametrize("begun", [CHUNKED, STREAM])
async def test_chunks_that_are_nearly_all_wrapping_are_given_up(begun: bytes, first: bytes, piece: bytes) -> None:
    """There is no deadline here: who takes it all is busy with it for ever."""

    async def vice(asked: Asked) -> None:
        await asked.write(begun + first)
        await asked.pour(piece)

    async with linked(vice) as (link, _):
        with pytest.raises(LinkError):
            await link.request(CALL)


@requirement("LINK-14")
@pytest.mark.parametrize("id", ["a b", "a\tb", "\xc3\xa4", "\x7f"])
async def test_a_session_id_that_is_none_is_refused(id: str) -> None:
    async def vice(asked: Asked) -> None:
        await asked.answer({})

    async with linked(vice, None, f"Mcp-Session-Id: {id}") as (link, _):
        with pytest.raises(LinkError, match="session id"):
            await link.request(HELLO)


@requirement("LINK-16")
@pytest.mark.parametrize("id", [b"a\x01b", b"\x1b[31m", b"9" * 5000])
async def test_a_place_that_no_header_can_carry_is_not_come_back_to(id: bytes) -> None:
    async def vice(asked: Asked) -> None:
        await asked.write(STREAM + chunk(b"id: " + id + b"\r\nretry: 0\r\ndata: \r\n\r\n") + b"0\r\n\r\n")

    async with linked(vice) as (link, site):
        with pytest.raises(LinkError, match="without a response"):
            await link.request(CALL)
    assert "GET" not in site.asked


@requirement("LINK-16")
async def test_many_answers_without_a_body_on_one_connection_are_no_wrapping() -> None:
    """Thousands of notices make as many of them."""
    accepted = framed(b"", "X-Long: " + "x" * 7_000, status="202 Accepted")

    async def vice(asked: Asked) -> None:
        await asked.write(accepted)

    async with linked(vice) as (link, site):
        for _ in range(2 * MAX_FRAMING // len(accepted)):
            await link.notify("tools/call")
    assert site.connections == 1


Calling = asyncio.Future[Response | Failure]
LONG_CALL = OutgoingRequest("tools/call", b'{"x":"' + b"y" * 12 * 1024 * 1024 + b'"}')


async def until_unread(size: int) -> None:
    while UNREAD.bytes < size:  # noqa: ASYNC110 - nobody tells that something waits
        await asyncio.sleep(0.01)


@asynccontextmanager
async def calling_in_vain(count: int) -> AsyncGenerator[list[Calling]]:
    """So many large calls of sites that do not read, each of which waits."""
    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        calls: list[Calling] = []
        for _ in range(count):
            site = await stack.enter_async_context(deaf_site(1024))
            link = HttpLink(site.url)
            await link.open(lambda message, stream: None, lambda error: None)
            stack.push_async_callback(link.close)
            calls.append(asyncio.ensure_future(link.request(LONG_CALL)))
            await until_unread(1)
        yield calls


@requirement("LINK-16", "QUAL-12")
@pytest.mark.filterwarnings("ignore:Sending a large body")
async def test_what_a_site_does_not_read_is_not_kept_when_nobody_waits_for_the_answer() -> None:
    async with calling_in_vain(1) as calls:
        calls[0].cancel()
        await asyncio.wait(calls)
        while UNREAD.bytes:  # noqa: ASYNC110 - nobody tells when it is let go
            await asyncio.sleep(0.01)


@requirement("LINK-16", "QUAL-12")
@pytest.mark.filterwarnings("ignore:Sending a large body")
async def test_of_sites_that_do_not_read_the_first_gives_way_and_its_caller_hears_why() -> None:
    async with calling_in_vain(3) as calls:
        with pytest.raises(LinkError, match=r"it does not read: [0-9]+ bytes wait, and others need the room"):
            await calls[0]
        assert UNREAD.bytes < MAX_UNREAD_BYTES
        assert not calls[2].done()
        for call in calls[1:]:
            call.cancel()
        await asyncio.wait(calls)


@requirement("LINK-16")
async def test_who_leaves_before_the_answer_was_reached() -> None:
    async def vice(asked: Asked) -> None:
        asked.close()

    async with linked(vice) as (link, _):
        with pytest.raises(LinkError, match="/mcp broke off: it closed the connection before its answer was whole"):
            await link.request(CALL)


async def half_an_answer(asked: Asked) -> None:
    await asked.write(CHUNKED + chunk(b"{"))


async def two_answers(asked: Asked) -> None:
    await asked.write(framed(message(asked.id, "one")) + framed(message(asked.id, "two")))


async def no_answer(asked: Asked) -> None:
    await asked.write(b"")


@requirement("LINK-20")
@pytest.mark.parametrize("vice", [half_an_answer, two_answers, no_answer])
async def test_a_connection_that_has_ended_is_gone_at_once(vice: Vice) -> None:
    """Without the collector, which seldom looks at what has become old: there is no circle to be found."""
    gc.collect()
    gc.disable()
    try:
        before = connections()
        async with linked(vice) as (link, _):
            await cancelled(link)
        assert connections() <= before
    finally:
        gc.enable()


def connections() -> set[int]:
    """All there are in this process, those of other tests among them."""
    return {id(each) for each in gc.get_objects() if isinstance(each, ResponseHandler)}


async def cancelled(link: HttpLink) -> None:
    """What came of it is let go, and with it whatever it ran through."""
    asking = asyncio.ensure_future(link.request(CALL))
    await asyncio.wait({asking}, timeout=0.1)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


class Ear:
    """Holds the link that it hears, as a session does."""

    def __init__(self, url: str) -> None:
        self.link = HttpLink(url)

    async def open(self) -> None:
        await self.link.open(self._received, self._lost)
        await self.link.request(HELLO)
        await self.link.notify("notifications/initialized")

    def _received(self, message: object, stream: int | None) -> None:
        pass

    def _lost(self, error: LinkError) -> None:
        pass


@requirement("LINK-20")
async def test_a_link_that_is_closed_holds_nobody_who_has_heard_it() -> None:
    gc.collect()
    gc.disable()
    try:
        async with asyncio.timeout(PATIENCE_S), raw_site(half_an_answer) as site:
            ear = Ear(site.url)
            await ear.open()
            await ear.link.close()
            held = ref(ear)
            del ear
            assert held() is None
    finally:
        gc.enable()

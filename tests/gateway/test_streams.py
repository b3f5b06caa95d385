"""Event streams by themselves: what waits for a reader stays in the one count until the reader takes it."""

import asyncio
import gc
from sys import getrefcount
from typing import cast

import pytest

from clawft.gateway.http import streams
from clawft.gateway.http.answer import HttpAnswer
from clawft.gateway.http.authorized_request import AuthorizedRequest
from clawft.gateway.http.streams import PIECE_BYTES, SHELF, EventStream
from clawft.gateway.running_requests import RunningRequests
from clawft.wire import sse
from clawft.wire.jsonrpc import writing
from tests.requirements import requirement

NEWS = writing.notification("notifications/message", b'{"data":"%b"}' % (b"x" * 10_000))


@requirement("QUAL-12")
async def test_a_reader_gets_a_piece_at_a_time_and_the_rest_stays_counted() -> None:
    """Whoever reads a little, so that all that waits is handed over, and then stops, would hold it uncounted."""
    before = SHELF.bytes
    stream = EventStream()
    for _ in range(100):
        stream.send(NEWS)
    waiting = SHELF.bytes - before
    stream.end()
    reading = stream.read(stream.enter())
    first = await anext(reading)
    assert PIECE_BYTES - 2 * len(NEWS) < len(first) <= PIECE_BYTES
    assert SHELF.bytes - before == waiting - len(first)
    rest = [frames async for frames in reading]
    assert len(first) + sum(map(len, rest)) == waiting
    assert SHELF.bytes == before


@requirement("QUAL-12")
async def test_a_large_event_is_handed_over_as_it_is() -> None:
    """And not as part of something larger, which would be there twice."""
    stream = EventStream("1", primed=True)
    large = writing.notification("notifications/message", b'{"data":"%b"}' % (b"x" * 2 * PIECE_BYTES))
    for message in (NEWS, large, NEWS):
        stream.send(message)
    stream.end()
    pieces = [frames async for frames in stream.read(stream.enter())]
    assert [piece is large for piece in pieces] == [False, False, True, False, False]
    assert [NEWS in piece for piece in pieces] == [True, False, False, False, True]
    assert b"".join(pieces).endswith(sse.frame(NEWS, "1.2") + sse.frame(large, "1.3") + sse.frame(NEWS, "1.4"))


class Leaving:
    """A request of somebody who disconnects when there is something to take."""

    async def send(self, message: dict[str, object]) -> None:
        if message.get("body"):
            raise ConnectionResetError("the client has disconnected")


@requirement("QUAL-12")
async def test_nothing_is_kept_of_what_was_being_written_when_a_client_left() -> None:
    """The call it belongs to may go on for long."""
    back = HttpAnswer(cast("AuthorizedRequest", Leaving()), RunningRequests(), b"1")
    large = writing.notification("notifications/message", b'{"data":"%b"}' % (b"x" * 2 * PIECE_BYTES))
    before = getrefcount(large)
    back.send(large)
    assert getrefcount(large) > before
    for _ in range(5):
        await asyncio.sleep(0)
    assert getrefcount(large) == before


@requirement("QUAL-12")
async def test_the_oldest_event_gives_way_but_not_the_last_that_somebody_waits_for() -> None:
    while SHELF.evict_one():
        pass
    stream = EventStream("1")
    me = stream.enter()
    for _ in range(3):
        stream.send(NEWS)
    assert [SHELF.evict_one() for _ in range(3)] == [True, True, False]
    stream.end()
    assert [frames.count(NEWS) async for frames in stream.read(me)] == [1]
    assert SHELF.evict_one()
    assert [frames async for frames in stream.read(stream.resume(0)) if frames] == []


@requirement("QUAL-12")
async def test_of_events_that_had_to_make_room_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even that there were any: a thousand sessions with many streams each would keep millions of them."""
    monkeypatch.setattr(streams, "MAX_SHELVED", 100)
    kept = [EventStream(str(number)) for number in range(20)]
    before = count_events()
    for stream in kept:
        for _ in range(50):
            stream.send(NEWS)
        stream.end()
    assert count_events() - before <= 101
    first, last = kept[0], kept[-1]
    assert sum([frames.count(b"event: message") async for frames in last.read(last.resume(0))]) == 50
    assert [frames async for frames in first.read(first.resume(0)) if frames] == []


def count_events() -> int:
    return sum(type(each).__name__ == "_Event" for each in gc.get_objects())


@requirement("SHELL-19")
async def test_an_old_connection_that_goes_takes_nothing_from_whoever_has_come_back() -> None:
    stream = EventStream("1")
    old = stream.enter()
    stream.send(NEWS)
    assert NEWS in await anext(stream.read(old))  # and its connection takes no more
    new = stream.resume(after=0)
    reading = stream.read(new)
    assert NEWS in await anext(reading)
    stream.leave(old)
    stream.finish(NEWS)
    assert NEWS in await anext(reading)

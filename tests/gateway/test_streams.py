"""Event streams by themselves: what waits for a reader stays in the one count until the reader takes it."""

import gc

import pytest

from clawft.gateway.http import streams
from clawft.gateway.http.streams import PIECE_BYTES, SHELF, EventStream
from clawft.wire import jsonrpc
from tests.requirements import requirement

NEWS = jsonrpc.notification("notifications/message", b'{"data":"%b"}' % (b"x" * 10_000))


@requirement("QUAL-12")
async def test_a_reader_gets_a_piece_at_a_time_and_the_rest_stays_counted() -> None:
    """Whoever reads a little, so that all that waits is handed over, and then stops, would hold it uncounted."""
    before = SHELF.bytes
    stream = EventStream()
    for _ in range(100):
        stream.send(NEWS)
    waiting = SHELF.bytes - before
    stream.end()
    reading = stream.read()
    first = await anext(reading)
    assert PIECE_BYTES <= len(first) < PIECE_BYTES + 2 * len(NEWS)
    assert SHELF.bytes - before == waiting - len(first)
    rest = [frames async for frames in reading]
    assert len(first) + sum(map(len, rest)) == waiting
    assert SHELF.bytes == before


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
    last = kept[-1]
    last.resume(0)
    assert sum([frames.count(b"event: message") async for frames in last.read()]) == 50
    kept[0].resume(0)
    assert [frames async for frames in kept[0].read() if frames] == []


def count_events() -> int:
    return sum(type(each).__name__ == "_Event" for each in gc.get_objects())

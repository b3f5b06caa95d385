"""Server-sent events, read and written."""

import pytest

from clawft.errors import MessageTooLong
from clawft.wire import sse
from clawft.wire.sse import Event, EventReader
from tests.requirements import requirement


def read(stream: bytes, size: int = 0, limit: int = 1000, *, skips: bool = False) -> list[Event]:
    reader = EventReader(limit, skips=skips)
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)] if size else [stream]
    return [event for chunk in chunks for event in reader.feed(chunk)]


@requirement("WIRE-10", "S2-P3-02")
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_every_line_ending_and_every_split_reads_the_same(end: str, size: int) -> None:
    lines = [": hello", "event: message", "id: 4.2", "retry: 100", "data: {", "data:}", "", "data: next", "", ""]
    assert read(end.join(lines).encode(), size) == [
        Event("{\n}", "message", "4.2", 100),
        Event("next"),
    ]


@requirement("WIRE-10")
@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_stream_may_begin_with_a_byte_order_mark(size: int) -> None:
    mark = b"\xef\xbb\xbf"
    assert read(mark + b"data: x\n\n" + mark + b"data: y\n\n", size) == [Event("x")]


@requirement("WIRE-10")
def test_an_event_is_there_as_soon_as_it_is_complete() -> None:
    """Also where lines end in CR alone, which could be half a CRLF: an answer must not wait for the next event."""
    assert read(b"data: x\r\r") == [Event("x")]
    reader = EventReader()
    assert list(reader.feed(b"data: x\r\n\r")) == [Event("x")]
    assert list(reader.feed(b"\ndata: y\n\n")) == [Event("y")]


@requirement("WIRE-10")
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b": comment only\n\n", []),
        (b"\n\n\n", []),
        (b"unknown: x\n\n", []),
        (b"data\n\n", [Event("")]),
        (b"data: \n\n", [Event("")]),
        (b"data:  two blanks\n\n", [Event(" two blanks")]),
        (b"data: a:b\n\n", [Event("a:b")]),
        (b"id: 7\ndata: \n\n", [Event("", id="7")]),
        (b"retry: 50\n\n", [Event("", retry=50)]),
        (b"retry: soon\ndata: x\n\n", [Event("x")]),
        (b"retry: -1\ndata: x\n\n", [Event("x")]),
        (b"retry: 99999999999999999999\ndata: x\n\n", [Event("x")]),
        (b"event:\ndata: x\n\n", [Event("x")]),
        (b"event: endpoint\ndata: /post?s=1\n\n", [Event("/post?s=1", "endpoint")]),
        (b"data: not finished", []),
        (b"data: \xff\n\n", [Event("\ufffd")]),
    ],
)
def test_fields(stream: bytes, events: list[Event]) -> None:
    assert read(stream) == events
    assert read(stream, 1) == events


@requirement("WIRE-08", "WIRE-09")
@pytest.mark.parametrize("size", [0, 1, 7])
def test_an_event_has_a_bound(size: int) -> None:
    assert read(b"data: " + b"x" * 94 + b"\r\n\r\n", size, limit=100) == [Event("x" * 94)]
    for too_long in (b"data: " + b"x" * 95 + b"\n\n", b"data: 12345\n" * 10 + b"\n", b":" + b"c" * 100 + b"\n\n"):
        with pytest.raises(MessageTooLong):
            read(too_long, size, limit=100)


@requirement("WIRE-10")
def test_many_small_events_are_no_large_one() -> None:
    assert len(read(b"data: 12345\n\n" * 100, limit=20)) == 100


@requirement("WIRE-10")
def test_what_we_write_we_read() -> None:
    stream = sse.priming("1.1") + sse.KEEP_ALIVE + sse.frame(b'{"a":1}', "1.2") + sse.frame(b"{}") + sse.retry(250)
    assert read(stream) == [
        Event("", id="1.1"),
        Event('{"a":1}', id="1.2"),
        Event("{}"),
        Event("", retry=250),
    ]


@requirement("WIRE-10", "WIRE-21")
def test_a_pretty_printed_message_stays_one_event() -> None:
    assert read(sse.frame(b'{"a":\r\n1,\n"b":2}')) == [Event('{"a":  1, "b":2}')]


@requirement("WIRE-08", "WIRE-09", "LINK-18")
@pytest.mark.parametrize("size", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_what_is_too_long_may_be_skipped_and_is_told_by_its_beginning(size: int, end: str) -> None:
    long = ["event: message", "data: {1234567", "data: " + "x" * 50, "data: y", ""]
    lines = ["data: a", "", *long, "data: b", "", ":" + "c" * 50, "", "data: " + "z" * 50, "", "data: d", "", ""]
    found = read(end.join(lines).encode(), size, 40, skips=True)
    skipped = [Event("{1234567", sse.TOO_LONG), Event("", sse.TOO_LONG), Event("z" * 34, sse.TOO_LONG)]
    heads = [Event(each.data[:34], each.event) for each in found]
    assert heads == [Event("a"), skipped[0], Event("b"), *skipped[1:], Event("d")]


@requirement("WIRE-08")
def test_that_something_is_skipped_is_told_before_it_ends() -> None:
    reader = EventReader(10, skips=True)
    assert [event for _ in range(1000) for event in reader.feed(b"data:xxxx")] == [Event("xxxxdata:xxxx", sse.TOO_LONG)]
    assert reader.held == 0

"""Server-sent events, read and written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import MessageTooLong
from clawft.wire import sse
from clawft.wire.sse import EventReader, SseEvent
from tests.requirements import requirement


def read(stream: bytes, size: int = 0, limit: int = 1000, *, skips: bool = False) -> list[SseEvent]:
    reader = EventReader(limit, skips=skips)
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)] if size else [stream]
    return [event for chunk in chunks for event in reader.feed(chunk)]


@requirement("WIRE-10", "S2-P3-02")
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_every_line_ending_and_every_split_reads_the_same(end: str, size: int) -> None:
    lines = [": hello", "event: message", "id: 4.2", "retry: 100", "data: {", "data:}", "", "data: next", "", ""]
    assert read(end.join(lines).encode(), size) == [
        SseEvent("{\n}", "message", "4.2", 100),
        SseEvent("next"),
    ]


pieces = st.sampled_from(
    [b"data: a", b"id: 1", b"\n", b"\r", b"\r\n", b": c", b"\x0b\x0c\x1c\xc2\x85", b"\xe2\x80\xa8", b""]
)


@requirement("WIRE-10")
@given(st.lists(pieces, max_size=20).map(b"".join), st.integers(1, 9))
def test_lines_end_with_cr_and_lf_and_nothing_else(stream: bytes, size: int) -> None:
    lines = re.split(rb"\r\n|\n|\r", stream)
    assert read(stream, size) == read(stream) == read(b"\n".join(lines), 1)


@requirement("WIRE-10")
@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_stream_may_begin_with_a_byte_order_mark(size: int) -> None:
    mark = b"\xef\xbb\xbf"
    assert read(mark + b"data: x\n\n" + mark + b"data: y\n\n", size) == [SseEvent("x")]


@requirement("WIRE-10")
def test_an_event_is_there_as_soon_as_it_is_complete() -> None:
    """Also where lines end in CR alone, which could be half a CRLF: an answer must not wait for the next event."""
    assert read(b"data: x\r\r") == [SseEvent("x")]
    reader = EventReader()
    assert list(reader.feed(b"data: x\r\n\r")) == [SseEvent("x")]
    assert list(reader.feed(b"\ndata: y\n\n")) == [SseEvent("y")]


@requirement("WIRE-10")
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b": comment only\n\n", []),
        (b"\n\n\n", []),
        (b"unknown: x\n\n", []),
        (b"data\n\n", [SseEvent("")]),
        (b"data: \n\n", [SseEvent("")]),
        (b"data:  two blanks\n\n", [SseEvent(" two blanks")]),
        (b"data: a:b\n\n", [SseEvent("a:b")]),
        (b"id: 7\ndata: \n\n", [SseEvent("", id="7")]),
        (b"retry: 50\n\n", [SseEvent("", retry=50)]),
        (b"retry: soon\ndata: x\n\n", [SseEvent("x")]),
        (b"retry: -1\ndata: x\n\n", [SseEvent("x")]),
        (b"retry: 99999999999999999999\ndata: x\n\n", [SseEvent("x")]),
        (b"event:\ndata: x\n\n", [SseEvent("x")]),
        (b"event: endpoint\ndata: /post?s=1\n\n", [SseEvent("/post?s=1", "endpoint")]),
        (b"data: not finished", []),
        (b"data: \xff\n\n", [SseEvent("\ufffd")]),
    ],
)
def test_fields(stream: bytes, events: list[SseEvent]) -> None:
    assert read(stream) == events
    assert read(stream, 1) == events


@requirement("WIRE-08", "WIRE-09")
@pytest.mark.parametrize("size", [0, 1, 7])
def test_an_event_has_a_bound(size: int) -> None:
    assert read(b"data: " + b"x" * 94 + b"\r\n\r\n", size, limit=100) == [SseEvent("x" * 94)]
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
        SseEvent("", id="1.1"),
        SseEvent('{"a":1}', id="1.2"),
        SseEvent("{}"),
        SseEvent("", retry=250),
    ]


@requirement("WIRE-10", "WIRE-21")
def test_a_pretty_printed_message_stays_one_event() -> None:
    assert read(sse.frame(b'{"a":\r\n1,\n"b":2}')) == [SseEvent('{"a":  1, "b":2}')]


@requirement("WIRE-08", "WIRE-09", "LINK-18")
@pytest.mark.parametrize("size", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_what_is_too_long_may_be_skipped_and_is_told_by_its_beginning(size: int, end: str) -> None:
    long = ["event: message", "data: {1234567", "data: " + "x" * 50, "data: y", ""]
    lines = ["data: a", "", *long, "data: b", "", ":" + "c" * 50, "", "data: " + "z" * 50, "", "data: d", "", ""]
    found = read(end.join(lines).encode(), size, 40, skips=True)
    skipped = [SseEvent("{1234567", sse.TOO_LONG), SseEvent("", sse.TOO_LONG), SseEvent("z" * 34, sse.TOO_LONG)]
    heads = [SseEvent(each.data[:34], each.event) for each in found]
    assert heads == [SseEvent("a"), skipped[0], SseEvent("b"), *skipped[1:], SseEvent("d")]


@requirement("WIRE-08")
def test_that_something_is_skipped_is_told_before_it_ends() -> None:
    reader = EventReader(10, skips=True)
    assert [event for _ in range(1000) for event in reader.feed(b"data:xxxx")] == [
        SseEvent("xxxxdata:xxxx", sse.TOO_LONG)
    ]
    assert reader.held == 0

"""For any split of the stream: the same lines, the same events."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawft.errors import MessageTooLong
from clawft.wire import framing, sse
from clawft.wire.framing import LineFramer, TooLong
from clawft.wire.sse import EventReader, SseEvent
from tests.props.shapes import OBJECTS, splits
from tests.requirements import requirement

pytestmark = pytest.mark.slow

LINE_BYTES = st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n", b" ", b"\r\n", b"x" * 7]), max_size=30).map(b"".join)


def lines(chunks: list[bytes], limit: int) -> list[bytes | None]:
    framer = LineFramer(limit)
    found = [line for chunk in chunks for line in framer.feed(chunk)] + list(framer.end())
    return [None if isinstance(line, TooLong) else line for line in found]


@requirement("WIRE-09")
@given(st.data(), LINE_BYTES, st.integers(1, 12))
def test_any_split_of_a_stream_gives_the_same_lines(data: st.DataObject, stream: bytes, limit: int) -> None:
    chunks = data.draw(splits(stream))
    whole = lines([stream], limit)
    assert lines(chunks, limit) == whole
    assert all(line is None or (len(line) <= limit and b"\n" not in line) for line in whole)


@requirement("WIRE-09")
@given(st.data(), st.lists(OBJECTS, max_size=5))
def test_messages_survive_any_split(data: st.DataObject, messages: list[dict[str, Any]]) -> None:
    written = [msgspec.json.encode(message) for message in messages]
    chunks = data.draw(splits(b"".join(line + b"\n" for line in written)))
    assert lines(chunks, framing.DEFAULT_LIMIT) == written


EVENT_BYTES = st.lists(
    st.sampled_from(
        [b"data: ", b"data:x", b"id: 1", b"retry: 5", b"event: e", b":c", b"\r", b"\n", b"\r\n", b"z" * 6, b"\xff"]
    ),
    max_size=30,
).map(b"".join)


def events(chunks: list[bytes], limit: int) -> tuple[list[SseEvent], bool]:
    reader, found = EventReader(limit), list[SseEvent]()
    try:
        for chunk in chunks:
            found.extend(reader.feed(chunk))
    except MessageTooLong:
        return found, True
    return found, False


@requirement("WIRE-09")
@given(st.data(), EVENT_BYTES)
@example(None, b"data:x\r\n\r\n")
def test_any_split_of_a_stream_gives_the_same_events(data: st.DataObject | None, stream: bytes) -> None:
    chunks = [stream[at : at + 1] for at in range(len(stream))] if data is None else data.draw(splits(stream))
    assert events(chunks, 10_000) == events([stream], 10_000)


@requirement("WIRE-09", "WIRE-08")
@given(st.data(), EVENT_BYTES, st.integers(5, 15))
def test_the_bound_of_an_event_holds_for_any_split(data: st.DataObject, stream: bytes, limit: int) -> None:
    """A line still growing may be noticed earlier than a whole one, never later, and no event is lost before it."""
    chunks = data.draw(splits(stream))
    found, too_long = events(chunks, limit)
    whole, whole_too_long = events([stream], limit)
    assert too_long or not whole_too_long
    assert found == whole


@requirement("WIRE-10")
@given(st.lists(OBJECTS, min_size=1, max_size=4))
def test_every_message_we_frame_is_read_back(messages: list[dict[str, Any]]) -> None:
    stream = b"".join(sse.frame(json.dumps(message, indent=1).encode()) for message in messages)
    assert [json.loads(event.data) for event in EventReader().feed(stream)] == messages

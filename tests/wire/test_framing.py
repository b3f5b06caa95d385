"""Lines out of chunks: bounded, and the link survives a line that is too long."""

import pytest

from clawft.wire.framing import DEFAULT_LIMIT, HEAD_BYTES, LineFramer, TooLong, one_line
from tests.requirements import requirement


def frame(*chunks: bytes, limit: int = DEFAULT_LIMIT, end: bool = True) -> list[bytes | TooLong]:
    framer = LineFramer(limit)
    lines = [line for chunk in chunks for line in framer.feed(chunk)]
    return lines + list(framer.end()) if end else lines


@requirement("WIRE-06", "T-1.1", "T-1.2", "FR-002", "S3-E07")
def test_a_line_is_a_message() -> None:
    assert frame(b'{"a":1}\n{"b":2}\n', end=False) == [b'{"a":1}', b'{"b":2}']


@requirement("WIRE-06")
def test_half_a_line_waits_for_the_rest() -> None:
    framer = LineFramer()
    assert list(framer.feed(b'{"a"')) == []
    assert list(framer.feed(b":1}")) == []
    assert list(framer.feed(b"\n")) == [b'{"a":1}']


@requirement("WIRE-07", "T-1.3")
def test_blank_lines_and_carriage_returns_are_ignored() -> None:
    assert frame(b"\n\r\n  \n{}\r\n\t\r\n[]\n") == [b"{}", b"[]"]


@requirement("WIRE-07")
def test_what_is_left_at_the_end_is_a_line_too() -> None:
    assert frame(b"a\nb") == [b"a", b"b"]
    assert frame(b"a\n") == [b"a"]
    assert frame(b"b\r") == [b"b"]
    assert frame() == []


@requirement("WIRE-08", "S2-P2-08")
def test_a_megabyte_passes_and_more_than_the_limit_does_not() -> None:
    long = b"x" * (1024 * 1024 + 7)
    assert frame(long + b"\n") == [long]
    assert frame(b"x" * (DEFAULT_LIMIT + 1) + b"\nok\n") == [TooLong(b"x" * HEAD_BYTES), b"ok"]


@requirement("WIRE-08")
@pytest.mark.parametrize("size", [1, 3, 10, 11, 12, 40])
def test_an_oversized_line_is_reported_once_and_the_next_is_fine(size: int) -> None:
    stream = b"ok1\n" + b"x" * 35 + b"\nok2\n" + b"y" * 11 + b"\r\nok3\n"
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert frame(*chunks, limit=10) == [b"ok1", TooLong(b"x" * 10), b"ok2", TooLong(b"y" * 10), b"ok3"]


@requirement("WIRE-08")
@pytest.mark.parametrize("size", [1, 5, 10, 11, 12])
def test_a_line_of_just_the_limit_passes_with_either_ending(size: int) -> None:
    stream = b"x" * 10 + b"\r\n" + b"y" * 10 + b"\n"
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert frame(*chunks, limit=10) == [b"x" * 10, b"y" * 10]


@requirement("WIRE-08")
def test_a_line_without_an_end_does_not_fill_the_memory() -> None:
    framer = LineFramer(limit=100)
    seen = [line for _ in range(1000) for line in framer.feed(b"x" * 50)]
    assert seen == [TooLong(b"x" * 100)]
    assert framer.held == 0
    assert not framer._begun.getvalue()  # pyright: ignore[reportPrivateUsage]  # what is held is the promise
    assert list(framer.end()) == []


@requirement("WIRE-06", "AC-12")
def test_a_pretty_printed_payload_goes_out_as_one_line() -> None:
    assert one_line(b'{"a":\r\n [1,\n2]}') == b'{"a":   [1, 2]}'
    plain = b'{"a":"\\n"}'
    assert one_line(plain) is plain

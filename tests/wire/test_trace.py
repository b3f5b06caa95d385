"""A trace goes on under our own span; what is no trace is not passed on as one."""

import json

import pytest
from msgspec import Raw

from clawft.wire.trace import continued
from tests.requirements import requirement

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLERS = "00f067aa0ba902b7"
OURS = "1234567890abcdef"


def sent(parent: str, **more: str) -> dict[str, object]:
    meta = {"traceparent": parent, "k": "v", **more}
    told = continued({key: Raw(json.dumps(value).encode()) for key, value in meta.items()}, lambda: OURS)
    return {key: json.loads(bytes(value)) for key, value in told.items()}


@requirement("RES-12")
@pytest.mark.parametrize("flags", ["00", "01"])
def test_the_same_trace_our_span(flags: str) -> None:
    told = sent(f"00-{TRACE}-{CALLERS}-{flags}", tracestate="a=1", baggage="b=2")
    assert told == {"traceparent": f"00-{TRACE}-{OURS}-{flags}", "k": "v", "tracestate": "a=1", "baggage": "b=2"}


@requirement("RES-12")
def test_a_later_version_is_continued_as_the_one_we_know() -> None:
    assert sent(f"cc-{TRACE}-{CALLERS}-01-what-comes-next")["traceparent"] == f"00-{TRACE}-{OURS}-01"


@requirement("RES-12")
@pytest.mark.parametrize(
    "parent",
    [
        "",
        "x",
        f"ff-{TRACE}-{CALLERS}-01",
        f"00-{'0' * 32}-{CALLERS}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{CALLERS}-01",
        f"00-{TRACE}-{CALLERS}-01-more",
        f"00-{TRACE}-{CALLERS}",
    ],
)
def test_what_cannot_be_read_is_left_out_with_its_state(parent: str) -> None:
    assert sent(parent, tracestate="a=1") == {"k": "v"}


@requirement("RES-12")
def test_without_a_trace_nothing_changes() -> None:
    meta = {"k": Raw(b"1")}
    assert continued(meta, lambda: OURS) is meta

"""The stream for what belongs to no request: come back to soon where it has held, ever later where it has not."""

import asyncio
import time

import pytest

from clawft.errors import LinkError
from clawft.link.http_out.events import MAX_RETRY_SECONDS, STREAM_RETRY_SECONDS, StreamPlace
from clawft.link.http_out.notice_stream import NoticeStream
from tests.requirements import requirement

ROUNDS = 7


async def pauses_between(held_seconds: float, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Of a stream that says nothing and ends after so long, every time. Those that end at once are counted."""
    now = 1_000.0
    slept: list[float] = []
    enough = asyncio.Event()
    asleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == ROUNDS:
            enough.set()
        await asleep(0)

    async def once(place: StreamPlace) -> bool:
        nonlocal now
        now += held_seconds
        stream.heard_of.set()
        return True

    def lose(error: LinkError) -> None:
        raise error

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    stream = NoticeStream("http://localhost/mcp")
    await stream.start(once, lose)
    await enough.wait()
    await stream.stop()
    assert bool(stream.broken) is (held_seconds < MAX_RETRY_SECONDS)
    return slept[:ROUNDS]


async def test_a_stream_that_ends_at_once_is_left_alone_ever_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await pauses_between(0.1, monkeypatch) == [2, 4, 8, 16, 30, 30, 30]


@requirement("LINK-22")
async def test_one_that_held_until_a_proxy_ended_it_is_opened_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await pauses_between(MAX_RETRY_SECONDS + 1, monkeypatch) == [STREAM_RETRY_SECONDS] * ROUNDS

"""Streams of lines that say nothing: however they end, they cost the server that sends them, not its neighbours."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from aiohttp import ClientResponse

from clawft.link.http_out.events import events_of
from clawft.link.share.read_throttle import ReadThrottle
from clawft.link.share.turns import LinkSender
from clawft.wire.framing import DEFAULT_LIMIT
from tests.requirements import requirement

PIECE = 8 * 1024


class Listener(ReadThrottle):
    """Keeps the account, and lets nobody wait."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def pause_after(self, size: int, began: float) -> float:
        self.sizes.append(size)
        return 0.0


class Stream:
    """As much of a response as is read."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.content = self
        self.headers: dict[str, str] = {}

    async def iter_any(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        pass


async def events_in(body: bytes, throttle: ReadThrottle) -> list[Any]:
    response = cast("ClientResponse", Stream(body))
    return [event async for event in events_of(response, DEFAULT_LIMIT, throttle, LinkSender())]


@requirement("LINK-16", "QUAL-12")
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_of_nothing_are_read_in_pieces_and_paid_for(end: bytes) -> None:
    throttle = Listener()
    assert asyncio.run(events_in(end * 30_000, throttle)) == []
    assert sum(throttle.sizes) == len(end) * 30_000
    assert max(throttle.sizes) <= PIECE


@requirement("QUAL-03")
def test_the_time_in_which_nobody_reads_is_not_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    paid: list[float] = []

    class Account(ReadThrottle):
        def pause_after(self, size: int, began: float) -> float:
            paid.append(now - began)
            return 0.0

    async def take_each_slowly() -> int:
        nonlocal now
        response = cast("ClientResponse", Stream(b"data: {}\n\n" * 5_000))
        taken = 0
        async for _ in events_of(response, DEFAULT_LIMIT, Account(), LinkSender()):
            now += 10.0
            taken += 1
        return taken

    assert asyncio.run(take_each_slowly()) == 5_000
    assert paid
    assert sum(paid) == 0

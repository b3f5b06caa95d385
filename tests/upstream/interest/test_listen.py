"""A subscription that ends is opened again: soon where it has held, ever later where it has not."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from clawft.errors import LinkClosed
from clawft.link.memory import MemoryLink
from clawft.upstream.interest.interest import Interest
from clawft.upstream.interest.listen import AGAIN_SECONDS, LONGEST_AGAIN_SECONDS, AgainPauses, ListenStream
from clawft.upstream.session.session import Session
from tests.requirements import requirement
from tests.upstream.session.test_session import DISCOVERED, Listener

TELLS: Mapping[str, Any] = {**DISCOVERED, "capabilities": {"tools": {"listChanged": True}}}


def test_a_stream_that_ends_at_once_is_left_alone_ever_longer() -> None:
    pauses = AgainPauses()
    assert [pauses.after(0.1) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]


def test_one_that_has_held_is_opened_again_soon_and_may_end_at_once_then() -> None:
    pauses = AgainPauses()
    for _ in range(8):
        pauses.after(0.1)
    assert [pauses.after(LONGEST_AGAIN_SECONDS) for _ in range(3)] == [AGAIN_SECONDS] * 3
    assert pauses.after(0.1) == 2 * AGAIN_SECONDS


@requirement("POOL-08")
async def test_a_proxy_that_ends_every_stream_after_a_while_does_not_make_us_deaf(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000.0
    slept: list[float] = []
    asleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asleep(0)

    def hold(_: object) -> Mapping[str, Any]:
        nonlocal now
        now += LONGEST_AGAIN_SECONDS + 1
        return {"resultType": "complete"}

    session = Session(MemoryLink({"server/discover": TELLS, "subscriptions/listen": hold}), Listener())
    await session.connect()
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    interest = Interest()
    missed: list[None] = []
    stream = ListenStream(session, interest, lambda: missed.append(None))
    while len(missed) < 5:
        await stream.tell()
        await stream.wait(interest.version)
    await stream.close()
    assert slept == [AGAIN_SECONDS] * 5
    assert session.faults.in_words() == {}


@requirement("POOL-08", "MGR-19")
async def test_subscriptions_that_never_hold_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        await asleep(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    session = Session(MemoryLink({"server/discover": TELLS, "subscriptions/listen": LinkClosed("gone")}), Listener())
    await session.connect()
    interest = Interest()
    missed: list[None] = []
    stream = ListenStream(session, interest, lambda: missed.append(None))
    while len(missed) < 3:
        await stream.tell()
        await stream.wait(interest.version)
    await stream.close()
    assert session.faults.in_words() == {"streams of news that ended at once": 3}

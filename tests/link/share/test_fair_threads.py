"""Work of seconds in threads: nobody waits for more of it than a neighbour may have at a time."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from clawft.link.share.fair_threads import FairThreads

SOON = 5.0


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What slow work waits for; opened in the end, whatever happens."""
    opened = threading.Event()
    yield opened
    opened.set()


async def test_a_caller_with_much_of_it_keeps_nobody_waiting(gate: threading.Event) -> None:
    threads = FairThreads(3, 2)
    slow = [asyncio.create_task(threads.run("greedy", gate.wait)) for _ in range(20)]
    await asyncio.sleep(0)
    async with asyncio.timeout(SOON):
        assert await threads.run("modest", lambda: "done") == "done"
    gate.set()
    assert await asyncio.gather(*slow) == [True] * 20


async def test_no_more_than_so_many_are_at_work(gate: threading.Event) -> None:
    threads = FairThreads(3, 2)
    begun: list[str] = []

    def work(whose: str) -> None:
        begun.append(whose)
        gate.wait()

    slow = [asyncio.create_task(threads.run(whose, lambda whose=whose: work(whose))) for whose in "aaaabbbb"]
    async with asyncio.timeout(SOON):
        while len(begun) < 3:  # noqa: ASYNC110 - no event tells of another thread
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    assert sorted(begun) == ["a", "a", "b"]
    gate.set()
    await asyncio.gather(*slow)
    assert sorted(begun) == list("aaaabbbb")


async def test_what_was_given_up_keeps_its_place_until_it_has_ended(gate: threading.Event) -> None:
    threads = FairThreads(1, 1)
    begun = threading.Event()

    def work() -> None:
        begun.set()
        gate.wait()

    slow = asyncio.create_task(threads.run("a", work))
    await asyncio.to_thread(begun.wait)
    slow.cancel()
    waiting = asyncio.create_task(threads.run("b", lambda: "done"))
    left = asyncio.create_task(threads.run("b", lambda: pytest.fail("nobody waits for it")))
    await asyncio.sleep(0.05)
    assert slow.cancelled()
    assert not waiting.done()
    left.cancel()
    gate.set()
    async with asyncio.timeout(SOON):
        assert await waiting == "done"
        assert await threads.run("a", lambda: "free again") == "free again"


async def test_an_error_is_the_callers() -> None:
    with pytest.raises(ZeroDivisionError):
        await FairThreads(1, 1).run("a", lambda: 1 // 0)

"""Work on large messages: beside the loop, one at a time, and whoever had less comes first."""

import asyncio
import threading
from collections.abc import Callable
from sys import getrefcount
from weakref import ref

import pytest

from clawft.link.share import large_messages
from clawft.link.share.large_messages import (
    DRAIN_SECONDS,
    LARGE_PLAIN,
    LARGE_WORK,
    LargeMessageWorker,
    in_worker,
    process_message,
    produce_large,
    search_message,
)
from clawft.link.share.turns import ALONE_FROM, LinkSender, Turn, Turns
from tests.requirements import requirement

pytestmark = requirement("QUAL-12")

LARGE = b"\\" * (LARGE_WORK + 1)
SMALL = b"\\" * LARGE_WORK
PLAIN = b"x" * LARGE_PLAIN
PATIENCE_S = 20.0


class Gate:
    """Work that goes on until it is let go."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._open = threading.Event()

    def __call__(self) -> str:
        self._loop.call_soon_threadsafe(self.began.set)
        assert self._open.wait(PATIENCE_S)
        return "done"

    def let_go(self) -> None:
        self._open.set()


def noting(order: list[str], word: str) -> Callable[[], None]:
    return lambda: order.append(word)


async def test_a_small_one_is_done_at_once_and_where_it_is() -> None:
    assert await process_message(SMALL, "s", threading.get_ident) == threading.get_ident()
    assert await process_message(PLAIN, "s", threading.get_ident) == threading.get_ident()
    assert await process_message(LARGE, "s", threading.get_ident) != threading.get_ident()
    assert await process_message(PLAIN + b"x", "s", threading.get_ident) != threading.get_ident()
    assert await search_message(SMALL, "s", threading.get_ident) == threading.get_ident()
    assert await search_message(PLAIN, "s", threading.get_ident) != threading.get_ident()


async def test_a_small_one_never_waits_behind_a_large_one() -> None:
    gate = Gate()
    large = asyncio.create_task(process_message(LARGE, "s", gate))
    await gate.began.wait()
    assert await process_message(SMALL, "s", lambda: "small") == "small"
    assert not large.done()
    gate.let_go()
    assert await large == "done"


async def test_there_is_one_at_a_time() -> None:
    inside = threading.Semaphore(1)

    def alone() -> bool:
        entered = inside.acquire(blocking=False)
        if entered:
            inside.release()
        return entered

    assert all(await asyncio.gather(*(process_message(LARGE, f"s{number % 3}", alone) for number in range(30))))


async def test_who_had_less_comes_first_and_else_who_came_first() -> None:
    worker = LargeMessageWorker(asyncio.get_running_loop())
    gate = Gate()
    order: list[str] = []
    first = asyncio.create_task(worker.do("greedy", gate))
    await gate.began.wait()
    rest = [asyncio.create_task(worker.do("greedy", noting(order, "greedy"))) for _ in range(3)]
    rest += [asyncio.create_task(worker.do(name, noting(order, name))) for name in ("a", "b")]
    await asyncio.sleep(0)
    gate.let_go()
    await asyncio.gather(first, *rest)
    assert order == ["a", "b", "greedy", "greedy", "greedy"]


async def test_what_nobody_waits_for_is_not_done_and_what_fails_fails_alone() -> None:
    worker = LargeMessageWorker(asyncio.get_running_loop())
    gate = Gate()
    order: list[str] = []
    first = asyncio.create_task(worker.do("s", gate))
    await gate.began.wait()
    gone = asyncio.create_task(worker.do("s", noting(order, "gone")))
    failing = asyncio.create_task(worker.do("s", lambda: 1 // 0))
    last = asyncio.create_task(worker.do("s", noting(order, "last")))
    await asyncio.sleep(0)
    gone.cancel()
    first.cancel()
    gate.let_go()
    with pytest.raises(ZeroDivisionError):
        await failing
    await last
    assert order == ["last"]


class Large:
    """Something that can be seen to be gone."""

    def __call__(self) -> None:
        pass


async def test_what_nobody_waits_for_is_let_go_of_at_once() -> None:
    """It may be megabytes, and may have had to wait for long."""
    worker = LargeMessageWorker(asyncio.get_running_loop())
    gate, large = Gate(), Large()
    first = asyncio.create_task(worker.do("s", gate))
    await gate.began.wait()
    gone = asyncio.create_task(worker.do("s", large))
    seen = ref(large)
    del large
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    del gone
    await asyncio.sleep(0)
    assert seen() is None
    gate.let_go()
    assert await first == "done"


async def test_a_result_is_in_nobody_elses_hands() -> None:
    """So that it can be changed where it is."""
    result, own = await process_message(LARGE, "s", lambda: b"x" * LARGE_WORK), b"x" * LARGE_WORK
    assert getrefcount(result) == getrefcount(own)


class Reader(Turn):
    def __init__(self, turns: Turns) -> None:
        super().__init__(LinkSender(), turns)
        self.called = asyncio.Event()

    def go_on(self) -> None:
        self.called.set()


async def test_no_large_message_is_read_while_one_is_worked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns()
    monkeypatch.setattr(large_messages, "TURNS", turns)
    reader, gate = Reader(turns), Gate()
    large = asyncio.create_task(process_message(LARGE, "s", gate))
    await gate.began.wait()
    assert not reader.hold(ALONE_FROM)
    gate.let_go()
    await large
    async with asyncio.timeout(PATIENCE_S):
        await reader.called.wait()
    assert reader.hold(2 * ALONE_FROM)
    reader.end()


@pytest.mark.parametrize("size", [10, LARGE_WORK + 1])
async def test_what_is_made_small_does_not_wait_for_what_others_brought(size: int) -> None:
    """And what is large does, or it would pile up."""
    gate = Gate()
    busy = asyncio.ensure_future(in_worker("flood", gate))
    await gate.began.wait()
    making = asyncio.ensure_future(produce_large(lambda: "x" * size, len))
    done, _ = await asyncio.wait({making}, timeout=DRAIN_SECONDS / 2)
    gate.let_go()
    assert bool(done) is (size == 10)
    assert (len(await making), await busy) == (size, "done")

"""Calls at one server: how many at once, in which order, and whose are told that it is busy."""

import asyncio
from collections import Counter
from collections.abc import Hashable

import pytest

from clawft.errors import Busy
from clawft.link.share.gate import MAX_BESIDE, Gate
from tests.requirements import requirement


class Hall:
    """A gate, and who is inside."""

    def __init__(self, running: int = 2, queued: int = 4) -> None:
        self.inside: Counter[Hashable] = Counter()
        self.gate = Gate("server", running, queued, runs=lambda who: self.inside[who] > 0)
        self.came: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def send(self, *callers: str) -> list[asyncio.Task[None]]:
        """One call of each, as far as it gets by itself."""
        sent = [asyncio.ensure_future(self._come(who)) for who in callers]
        self.tasks += sent
        for _ in range(3):
            await asyncio.sleep(0)
        return sent

    async def _come(self, who: str) -> None:
        await self.gate.enter(who)
        self.inside[who] += 1
        self.came.append(who)

    async def end(self, who: str) -> None:
        self.inside[who] -= 1
        self.gate.leave()
        for _ in range(3):
            await asyncio.sleep(0)


@requirement("QUAL-12")
async def test_one_caller_alone_has_all_places_and_then_it_is_busy() -> None:
    hall = Hall()
    sent = await hall.send(*"aaaaaaa")
    assert (hall.inside["a"], hall.gate.running) == (2, 2)
    with pytest.raises(Busy, match="2 calls run and 4 wait"):
        await sent[-1]
    for _ in range(6):
        await hall.end("a")
    assert (len(hall.came), hall.gate.running) == (6, 0)


@requirement("QUAL-12")
async def test_who_has_nothing_running_need_not_wait_for_the_calls_of_another() -> None:
    hall = Hall()
    await hall.send(*"aaaa", *"bb")
    assert (hall.inside["a"], hall.inside["b"]) == (2, 1)
    await hall.end("b")
    assert hall.inside["b"] == 1
    await hall.end("b")
    assert (hall.inside["b"], hall.gate.running) == (0, 2)


@requirement("QUAL-12")
async def test_there_is_an_end_to_that_too() -> None:
    hall = Hall()
    await hall.send("a", "a", *(f"b{number}" for number in range(MAX_BESIDE + 3)))
    assert hall.gate.running == 2 + MAX_BESIDE


@requirement("QUAL-12")
async def test_those_who_wait_take_turns() -> None:
    hall = Hall(running=1, queued=10)
    await hall.send("x")
    await hall.send("a", "b")
    await hall.send(*"aaa", *"bbb")
    for who in ("a", "b"):
        await hall.end(who)  # and what comes next has the place beside the other
    for _ in range(6):
        await hall.end(hall.came[-1])
    assert hall.came[:3] == ["x", "a", "b"]
    assert Counter(hall.came[3:]) == {"a": 3, "b": 3}


@requirement("QUAL-12")
async def test_the_last_of_whoever_waits_most_gives_way() -> None:
    hall = Hall(running=1, queued=4)
    sent = await hall.send("x", *"aaaaa")
    hall.inside["b"] = hall.inside["a"] = 1
    (late,) = await hall.send("b")
    assert not late.done()
    with pytest.raises(Busy):
        await sent[-1]
    (more,) = await hall.send("a")
    with pytest.raises(Busy):
        await more
    for task in hall.tasks:
        task.cancel()


@requirement("QUAL-12")
async def test_whoever_stops_waiting_gives_their_place_back() -> None:
    hall = Hall(running=1, queued=2)
    _, first, second = await hall.send(*"aaa")
    first.cancel()
    await hall.end("a")
    assert hall.inside["a"] == 1
    assert second.done()
    again = await hall.send(*"aa")
    for task in again:
        task.cancel()
    await hall.end("a")
    assert hall.gate.running == 0
    await hall.send(*"aaa")
    assert hall.inside["a"] == 1
    for task in hall.tasks:
        task.cancel()


@requirement("QUAL-12")
async def test_one_that_has_begun_is_not_refused_and_comes_first() -> None:
    hall = Hall(running=1, queued=2)
    await hall.send(*"aaa")
    step = asyncio.create_task(hall.gate.enter("a", begun=True))
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await hall.gate.enter("a")
    await hall.end("a")
    assert (step.done(), hall.came) == (True, ["a"])
    for task in hall.tasks:
        task.cancel()


@requirement("SESS-13")
async def test_waiting_for_a_place_is_part_of_the_time_of_a_call() -> None:
    gate = Gate("slow", running=1)
    assert gate.try_enter()
    with pytest.raises(Busy, match="slow is busy: the call waited 20 ms"):
        await gate.enter_within(0.02)
    late = asyncio.create_task(gate.enter_within(0.005))
    await asyncio.sleep(0)
    gate.leave()
    with pytest.raises(Busy, match="waited 5 ms"):  # it would only begin, and then be given up
        await late
    assert gate.try_enter()
    waiting = asyncio.create_task(gate.enter_within(60.0))
    await asyncio.sleep(0)
    gate.leave()
    assert 0 < await waiting < 60
    gate.leave()
    assert gate.running == 0

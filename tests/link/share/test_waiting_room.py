"""Large requests that wait for room: in turn, for a while, and not behind those who never come."""

import asyncio

import pytest

from clawft.errors import Busy, LinkClosed
from clawft.link.share import waiting_room
from clawft.link.share.load import Load, Total
from clawft.link.share.waiting_room import WaitingRoom
from tests.requirements import requirement

SOON = 0.05


@pytest.fixture
def room() -> tuple[WaitingRoom, Total]:
    total = Total("things", 100)
    return WaitingRoom(total), total


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@requirement("QUAL-12")
async def test_who_waits_is_let_in_when_something_is_put_down(room: tuple[WaitingRoom, Total]) -> None:
    first = await room[0].enter(100, "one")
    second = asyncio.create_task(room[0].enter(100, "two"))
    await settled()
    assert not second.done()
    first.put_down()
    (await second).put_down()
    assert room[1].carried == 0


@requirement("QUAL-12")
async def test_callers_take_turns_however_many_of_one_wait(room: tuple[WaitingRoom, Total]) -> None:
    order: list[str] = []

    async def carry(caller: str) -> None:
        with await room[0].enter(100, caller):
            order.append(caller)
            await settled()

    async with asyncio.TaskGroup() as group:
        with await room[0].enter(100, "before"):
            for caller in ("flood", "flood", "flood", "flood", "late"):
                group.create_task(carry(caller))
            await settled()
    assert order == ["flood", "late", "flood", "flood", "flood"]


@requirement("QUAL-12")
async def test_a_share_that_is_used_up_holds_back_nobody_else(room: tuple[WaitingRoom, Total]) -> None:
    with await room[0].enter(40, "one"):
        own = asyncio.create_task(room[0].enter(40, "one"))
        with await room[0].enter(40, "two"):
            assert not own.done()
    (await own).put_down()


@requirement("QUAL-12")
async def test_the_wait_and_those_who_wait_have_bounds(
    room: tuple[WaitingRoom, Total], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_room, "WAIT_SECONDS", SOON)
    monkeypatch.setattr(waiting_room, "MAX_WAITING_EACH", 1)
    with await room[0].enter(100, "one"):
        patient = asyncio.create_task(room[0].enter(100, "two"))
        await settled()
        with pytest.raises(Busy):
            await room[0].enter(100, "two")
        assert not patient.done()
        with pytest.raises(Busy):
            await patient
    (await room[0].enter(100, "two")).put_down()


@requirement("QUAL-12")
async def test_who_leaves_the_queue_leaves_nothing_behind(room: tuple[WaitingRoom, Total]) -> None:
    first = await room[0].enter(100, "one")
    second = asyncio.create_task(room[0].enter(100, "two"))
    await settled()
    first.put_down()  # lets it in
    second.cancel()  # before it could notice
    await asyncio.gather(second, return_exceptions=True)
    assert room[1].carried == 0


@requirement("QUAL-12")
async def test_who_has_left_waits_no_longer(room: tuple[WaitingRoom, Total], monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it would keep its place, and what came of its request, from those who are there."""
    monkeypatch.setattr(waiting_room, "LOOK_SECONDS", SOON)
    left = asyncio.Event()
    with await room[0].enter(100, "one"):
        gone = asyncio.create_task(room[0].enter(100, "two", left.is_set))
        stays = asyncio.create_task(room[0].enter(100, "two"))
        left.set()
        with pytest.raises(LinkClosed):
            await gone
        assert not stays.done()
    (await stays).put_down()
    assert room[1].carried == 0


@requirement("QUAL-12")
async def test_one_that_does_not_come_gives_way_while_others_wait(
    room: tuple[WaitingRoom, Total], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_room, "LOOK_SECONDS", SOON)

    async def announce(load: Load) -> None:
        async with asyncio.timeout(None) as patience:
            with load, room[0].coming(load, patience):
                await asyncio.Event().wait()

    silent = asyncio.create_task(announce(await room[0].enter(100, "silent")))
    (await room[0].enter(100, "other")).put_down()
    with pytest.raises(TimeoutError):
        await silent

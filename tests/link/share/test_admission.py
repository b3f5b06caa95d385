"""Large requests that wait for queue: in turn, for a while, and not behind those who never come."""

import asyncio

import pytest

from clawft.errors import Busy, LinkClosed
from clawft.link.share import admission
from clawft.link.share.admission import AdmissionQueue
from clawft.link.share.byte_limits import ByteLimit, Reservation
from tests.requirements import requirement

SOON = 0.05


@pytest.fixture
def queue() -> tuple[AdmissionQueue, ByteLimit]:
    limit = ByteLimit("things", 100)
    return AdmissionQueue(limit), limit


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@requirement("QUAL-12")
async def test_who_waits_is_let_in_when_something_is_put_down(queue: tuple[AdmissionQueue, ByteLimit]) -> None:
    first = await queue[0].enter(100, "one")
    second = asyncio.create_task(queue[0].enter(100, "two"))
    await settled()
    assert not second.done()
    first.release()
    (await second).release()
    assert queue[1].reserved == 0


@requirement("QUAL-12")
async def test_callers_take_turns_however_many_of_one_wait(queue: tuple[AdmissionQueue, ByteLimit]) -> None:
    order: list[str] = []

    async def carry(caller: str) -> None:
        with await queue[0].enter(100, caller):
            order.append(caller)
            await settled()

    async with asyncio.TaskGroup() as group:
        with await queue[0].enter(100, "before"):
            for caller in ("flood", "flood", "flood", "flood", "late"):
                group.create_task(carry(caller))
            await settled()
    assert order == ["flood", "late", "flood", "flood", "flood"]


@requirement("QUAL-12")
async def test_a_share_that_is_used_up_holds_back_nobody_else(queue: tuple[AdmissionQueue, ByteLimit]) -> None:
    with await queue[0].enter(40, "one"):
        own = asyncio.create_task(queue[0].enter(40, "one"))
        with await queue[0].enter(40, "two"):
            assert not own.done()
    (await own).release()


@requirement("QUAL-12")
async def test_the_wait_and_those_who_wait_have_bounds(
    queue: tuple[AdmissionQueue, ByteLimit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "WAIT_SECONDS", SOON)
    monkeypatch.setattr(admission, "MAX_WAITING_EACH", 1)
    with await queue[0].enter(100, "one"):
        patient = asyncio.create_task(queue[0].enter(100, "two"))
        await settled()
        with pytest.raises(Busy):
            await queue[0].enter(100, "two")
        assert not patient.done()
        with pytest.raises(Busy):
            await patient
    (await queue[0].enter(100, "two")).release()


@requirement("QUAL-12")
async def test_who_leaves_the_queue_leaves_nothing_behind(queue: tuple[AdmissionQueue, ByteLimit]) -> None:
    first = await queue[0].enter(100, "one")
    second = asyncio.create_task(queue[0].enter(100, "two"))
    await settled()
    first.release()  # lets it in
    second.cancel()  # before it could notice
    await asyncio.gather(second, return_exceptions=True)
    assert queue[1].reserved == 0


@requirement("QUAL-12")
async def test_who_has_left_waits_no_longer(
    queue: tuple[AdmissionQueue, ByteLimit], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it would keep its place, and what came of its request, from those who are there."""
    monkeypatch.setattr(admission, "LOOK_SECONDS", SOON)
    left = asyncio.Event()
    with await queue[0].enter(100, "one"):
        gone = asyncio.create_task(queue[0].enter(100, "two", left.is_set))
        stays = asyncio.create_task(queue[0].enter(100, "two"))
        left.set()
        with pytest.raises(LinkClosed):
            await gone
        assert not stays.done()
    (await stays).release()
    assert queue[1].reserved == 0


@requirement("QUAL-12")
async def test_one_that_does_not_come_gives_way_while_others_wait(
    queue: tuple[AdmissionQueue, ByteLimit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "LOOK_SECONDS", SOON)

    async def announce(reservation: Reservation) -> None:
        async with asyncio.timeout(None) as patience:
            with reservation, queue[0].receiving(reservation, patience):
                await asyncio.Event().wait()

    silent = asyncio.create_task(announce(await queue[0].enter(100, "silent")))
    (await queue[0].enter(100, "other")).release()
    with pytest.raises(TimeoutError):
        await silent

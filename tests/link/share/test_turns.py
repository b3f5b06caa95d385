"""Turns for what is large: the first is read to its end, others while there is room; who does not come gives way."""

import asyncio

import pytest

from clawft.errors import MessageTooLong
from clawft.link.share import turns as module
from clawft.link.share.turns import ALONE_FROM, MAX_HELD_BYTES, AwaitedTurn, LinkSender, Turn, Turns
from tests.requirements import requirement

pytestmark = requirement("QUAL-12")

PATIENCE_S = 20.0
LARGE = MAX_HELD_BYTES + 1


class Reader(Turn):
    """Tells what it was told."""

    def __init__(self, turns: Turns) -> None:
        super().__init__(LinkSender(), turns)
        self.told: list[str] = []
        self.called = asyncio.Event()

    def go_on(self) -> None:
        self.told.append("go on")
        self.called.set()

    def give_up(self) -> None:
        self.told.append("give up")
        self.called.set()


async def test_the_first_goes_on_whatever_it_holds_and_others_while_there_is_room_beside_it() -> None:
    turns = Turns()
    first, second, third = Reader(turns), Reader(turns), Reader(turns)
    assert first.hold(LARGE * 2)
    assert second.hold(MAX_HELD_BYTES - ALONE_FROM)
    assert not third.hold(LARGE)
    assert not second.hold(MAX_HELD_BYTES)
    first.end()
    await asyncio.sleep(0)
    assert (second.told, third.told) == (["go on"], [])
    assert second.hold(LARGE)
    second.end()
    await asyncio.sleep(0)
    assert third.told == ["go on"]
    third.end()
    assert turns.held == 0


async def test_small_ones_never_wait_and_one_that_is_small_again_has_given_way() -> None:
    turns = Turns()
    first, second = Reader(turns), Reader(turns)
    first.hold(LARGE)
    assert second.hold(ALONE_FROM - 1)
    assert not second.hold(LARGE)
    assert second.hold(0)
    assert first.hold(0)
    assert turns.held == 0
    assert turns.taken == {}


async def test_what_does_not_come_while_others_wait_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(module, "_clock", lambda: now)
    turns = Turns()
    drips, waits = Reader(turns), Reader(turns)
    drips.hold(LARGE)
    assert not waits.hold(LARGE)
    for _ in range(5):
        now += 2
        drips.hold(drips.size + module.PACE_BYTES)
        turns.look()
    assert (drips.told, waits.told) == ([], [])
    now += 2
    drips.hold(drips.size + 1)
    turns.look()
    assert (drips.told, waits.told) == (["give up"], ["go on"])
    waits.end()


async def test_whoever_sent_what_did_not_come_is_last_from_then_on() -> None:
    turns = Turns()
    drips, honest = Reader(turns), Reader(turns)
    drips.sender.given_up = 1
    assert drips.hold(LARGE)
    assert honest.hold(LARGE * 2)
    assert not drips.hold(LARGE + 1)
    honest.end()
    await asyncio.sleep(0)
    assert drips.told == ["go on"]
    drips.end()


async def test_whoever_works_on_a_whole_one_comes_before_whoever_would_read_the_next() -> None:
    turns = Turns()
    first, second = Reader(turns), Reader(turns)
    first.hold(LARGE)
    assert not second.hold(LARGE)
    asyncio.get_running_loop().call_soon(turns.begin_work)
    first.end()
    await asyncio.sleep(0)
    turns.begin_work()
    turns.end_work()
    assert second.told == []
    turns.end_work()
    assert second.told == ["go on"]
    second.end()


async def test_somebody_who_waits_looks_by_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(module, "PACE_SECONDS", 0.01)
    turns = Turns()
    drips, waits = Reader(turns), Reader(turns)
    drips.hold(LARGE)
    waits.hold(LARGE)
    await asyncio.wait_for(waits.called.wait(), PATIENCE_S)
    assert (drips.told, waits.told) == (["give up"], ["go on"])
    waits.end()


async def test_while_callers_do_not_take_their_answers_none_is_read_for_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(module, "_clock", lambda: now)
    turns = Turns()
    reader, patient = Reader(turns), Reader(turns)
    turns.block()
    assert not reader.hold(ALONE_FROM)
    now += module.CALLERS_SECONDS + 1
    turns.look()
    assert reader.told == ["go on"]
    assert reader.hold(LARGE)
    assert not patient.hold(ALONE_FROM)
    turns.unblock()
    assert patient.told == ["go on"]
    reader.end()
    patient.end()


async def test_a_task_waits_for_its_turn_and_one_that_is_cancelled_gives_way() -> None:
    turns = Turns()
    first, second, third = (AwaitedTurn(LinkSender(), lambda: None, turns) for _ in range(3))
    await first.wait(LARGE)
    await second.wait(ALONE_FROM)
    gives_up = asyncio.ensure_future(second.wait(LARGE))
    waiting = asyncio.ensure_future(third.wait(LARGE))
    await asyncio.sleep(0)
    assert not waiting.done()
    gives_up.cancel()
    second.end()
    first.end()
    await asyncio.wait_for(waiting, PATIENCE_S)
    third.end()
    assert turns.held == 0


async def test_a_task_whose_message_is_given_up_hears_why() -> None:
    turns = Turns()
    stopped = asyncio.Event()
    turn = AwaitedTurn(LinkSender(), stopped.set, turns)
    await turn.wait(LARGE)
    turn.give_up()
    assert stopped.is_set()
    with pytest.raises(MessageTooLong, match="others waited"), turn:
        pass

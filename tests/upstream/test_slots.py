"""Places for open servers: who gives way to whom."""

import asyncio

from clawft.upstream.slots import Slots
from tests.requirements import requirement


class Server:
    def __init__(self, name: str, *, private: bool = False, idle: bool = True) -> None:
        self.name = name
        self.private = private
        self.is_idle = idle
        self.used = 0.0
        self.is_open = True
        self.has_callers = False

    def give_way(self) -> None:
        self.is_open = False


def filled(limit: int, *servers: Server) -> Slots:
    slots = Slots(limit)
    for server in servers:
        slots.claim(server)
    return slots


@requirement("POOL-03")
def test_one_that_is_idle_gives_way() -> None:
    old, new = Server("old"), Server("new")
    old.used, new.used = 1.0, 2.0
    slots = filled(2, new, old)
    slots.claim(Server("third"))
    assert (old.is_open, new.is_open) == (False, True)
    for server in (new, old):
        server.is_idle = False
    full = filled(2, new, Server("busy", idle=False))
    full.claim(Server("fourth"))
    assert len(full) == 2
    assert new.is_open


@requirement("POOL-03", "QUAL-12")
def test_what_conversations_have_for_themselves_does_not_push_out_what_all_share() -> None:
    shared = [Server(f"shared {number}") for number in range(2)]
    own = [Server(f"own {number}", private=True, idle=False) for number in range(2)]
    slots = filled(4, *shared, *own)
    slots.claim(Server("one more", private=True))
    assert all(server.is_open for server in (*shared, *own))
    own[0].is_idle = True
    slots.claim(Server("one more", private=True))
    assert (own[0].is_open, all(server.is_open for server in shared)) == (False, True)
    slots.claim(Server("shared by all"))
    assert [server.is_open for server in shared].count(False) == 1


@requirement("POOL-03", "QUAL-12")
async def test_one_that_cannot_come_in_holds_up_nobody_behind_it() -> None:
    shared, own = Server("shared", idle=False), Server("own", private=True, idle=False)
    slots = filled(2, shared, own)
    first = asyncio.ensure_future(slots.enter(Server("private", private=True)))
    second = asyncio.ensure_future(slots.enter(Server("public")))
    await asyncio.sleep(0)
    shared.is_idle = True
    slots.look()
    async with asyncio.timeout(5):
        await second
    assert not first.done()
    first.cancel()


@requirement("POOL-03")
async def test_who_is_called_waits_for_one_in_use_and_comes_in_before_those_that_are_not_called() -> None:
    busy, called = Server("busy", idle=False), Server("called")
    slots = filled(1, busy)
    called.has_callers = True
    slots.claim(called)
    unasked = asyncio.ensure_future(slots.enter(Server("unasked")))
    wanted = asyncio.ensure_future(slots.enter(called))
    await asyncio.sleep(0)
    busy.is_idle = True
    slots.look()
    async with asyncio.timeout(5):
        await wanted
    assert (busy.is_open, unasked.done()) == (False, False)
    unasked.cancel()

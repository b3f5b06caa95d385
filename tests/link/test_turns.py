"""Turns for what is large: one at a time, and whoever leaves gives way."""

import asyncio

from clawft.link.turns import ALONE_FROM, Turns
from tests.requirements import requirement

PATIENCE_S = 20.0
LARGE = ALONE_FROM


@requirement("QUAL-12")
async def test_of_large_ones_only_one_goes_on() -> None:
    turns = Turns()
    with turns.turn() as first:
        await first.hold(LARGE)
        await first.hold(LARGE * 2)
        second = turns.turn()
        await second.hold(ALONE_FROM - 1)
        waiting = asyncio.ensure_future(second.hold(LARGE))
        await asyncio.sleep(0)
        assert not waiting.done()
    await asyncio.wait_for(waiting, PATIENCE_S)
    second.end()


@requirement("QUAL-12")
async def test_one_that_is_small_again_gives_way_and_so_does_one_that_gives_up() -> None:
    turns = Turns()
    first, second, third = turns.turn(), turns.turn(), turns.turn()
    await first.hold(LARGE)
    gives_up = asyncio.ensure_future(second.hold(LARGE))
    waiting = asyncio.ensure_future(third.hold(LARGE))
    await asyncio.sleep(0)
    gives_up.cancel()
    await first.hold(0)
    await asyncio.wait_for(waiting, PATIENCE_S)
    first.end()
    second.end()
    third.end()
    await asyncio.wait_for(turns.turn().hold(LARGE), PATIENCE_S)

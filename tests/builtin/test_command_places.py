"""Places for commands: how many there are, who gets one beside them, and what is told to whoever gets none."""

import asyncio
import os
from contextlib import AsyncExitStack

import pytest

from clawft.builtin.command_places import MAX_ON_FEW_CORES, MAX_PER_CORE, Turn, place
from clawft.errors import Busy
from clawft.model import Caller
from tests.requirements import requirement

PLACES = max(MAX_ON_FEW_CORES, MAX_PER_CORE * (os.cpu_count() or 1))
ONE, OTHER = Caller(client="one"), Caller(client="other")


@requirement("QUAL-12")
async def test_waiting_for_a_place_is_part_of_the_time_of_a_command() -> None:
    async with AsyncExitStack() as stack:
        for _ in range(PLACES):
            assert await stack.enter_async_context(place(Turn(ONE), 30)) == 30
        with pytest.raises(Busy, match="this machine is busy: the call waited 20 ms") as refused:
            await stack.enter_async_context(place(Turn(ONE), 0.02))
        assert "give them more time" in refused.value.hint
        assert await stack.enter_async_context(place(Turn(OTHER), 30)) <= 30
    async with place(Turn(ONE), 30) as seconds:
        assert seconds == 30


@requirement("QUAL-12")
async def test_a_call_that_has_begun_comes_first() -> None:
    came: list[str] = []

    async def come(turn: Turn, name: str) -> None:
        async with place(turn, 30):
            came.append(name)

    begun = Turn(ONE)
    async with place(begun, 30):
        pass
    async with AsyncExitStack() as stack:
        for _ in range(PLACES):
            await stack.enter_async_context(place(Turn(ONE), 30))
        async with asyncio.TaskGroup() as group:
            group.create_task(come(Turn(ONE), "new"))
            await asyncio.sleep(0)
            group.create_task(come(begun, "begun"))
            await asyncio.sleep(0)
            await stack.aclose()
    assert came == ["begun", "new"]

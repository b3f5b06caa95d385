"""Calls, lists and reads in every pair."""

from pathlib import Path

import pytest

from tests.matrix.cells import Cell, cells
from tests.matrix.houses import Houses, connected
from tests.requirements import requirement

pytestmark = [pytest.mark.slow, requirement("SHELL-18")]


@cells("tools/call")
async def test_a_call_and_its_answer(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        assert await agent.say("echo", token="over") == "over"

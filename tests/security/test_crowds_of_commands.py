"""Calls without end that each start a program: few of these run at a time, and whoever else comes is served."""

import asyncio
import os
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from clawft.builtin.command_places import MAX_ON_FEW_CORES, MAX_PER_CORE
from tests.requirements import requirement
from tests.security.test_taking_turns import callers, sent
from tests.security.well import is_well
from tests.servers.raw_http import PATIENCE_S, Answer, ask, modern_call
from tests.servers.weft import Served, children_named, gateway

pytestmark = pytest.mark.slow

CROWD = 200
PLACES = max(MAX_ON_FEW_CORES, MAX_PER_CORE * (os.cpu_count() or 1))
FAIR_S = 1.0
"""Measured: 0.1 to 0.3 s, and 5 to 7 s before there was a bound; the control had 0.03 to 0.1 s."""
AS_SLOW = 10
"""Times what the machine itself takes at its slowest, as another weft shows that nobody crowds."""


@pytest.fixture
def control(tmp_path: Path) -> Generator[Served]:
    (tmp_path / "control").mkdir()
    with gateway(tmp_path / "control", "--no-auth") as running:
        yield running


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


async def slowest(served: Served, crowd: asyncio.Future[list[Answer]]) -> float:
    """Of small calls, one after another, until the crowd has its answers."""
    longest = 0.0
    while not crowd.done():
        began = time.perf_counter()
        await is_well(served.port)
        longest = max(longest, time.perf_counter() - began)
    return longest


@requirement("QUAL-12")
async def test_a_crowd_that_starts_programs_keeps_nobody_waiting(repository: Path, control: Served) -> None:
    with gateway(repository, "--no-auth") as served:
        greedy, _ = await callers(served, "stateless")
        async with sent(served, [greedy(id, "git__status", {"repo_path": "."}) for id in range(CROWD)]) as lines:
            crowd = asyncio.gather(*(line.answer() for line in lines))
            crowded, calm = await asyncio.gather(slowest(served, crowd), slowest(control, crowd))
            statuses = {answer.status for answer in await crowd}
    assert statuses <= {200, 503}
    assert crowded < FAIR_S + AS_SLOW * calm


@requirement("QUAL-12", "EXEC-01")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_commands_that_do_not_end_leave_places_to_others(tmp_path: Path, era: str) -> None:
    with gateway(tmp_path, "--no-auth") as served:
        greedy, modest = await callers(served, era)
        endless = [greedy(id, "shell__exec", {"command": "sleep 600"}) for id in range(PLACES + 20)]
        async with sent(served, endless):
            async with asyncio.timeout(PATIENCE_S):
                while len(children_named(served.pid, "sleep")) < PLACES:
                    await is_well(served.port)
            for id in range(5):
                answer = await ask(served.port, modest(id, "shell__exec", {"command": "echo here"}))
                assert b"here" in answer.body
            assert len(children_named(served.pid, "sleep")) == PLACES


@requirement("QUAL-12", "EXEC-01")
async def test_a_crowd_that_leaves_leaves_nothing_behind(tmp_path: Path) -> None:
    with gateway(tmp_path, "--no-auth") as served:
        endless = modern_call(served.port, 1, "shell__exec", {"command": "sleep 600"})
        async with sent(served, [endless] * (PLACES + 20)), asyncio.timeout(PATIENCE_S):
            while len(children_named(served.pid, "sleep")) < PLACES:
                await is_well(served.port)
        async with asyncio.timeout(PATIENCE_S):
            while children_named(served.pid, "sleep"):
                await is_well(served.port)
        answer = await ask(served.port, modern_call(served.port, 1, "shell__exec", {"command": "echo again"}))
        assert b"again" in answer.body

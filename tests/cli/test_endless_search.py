"""A pattern that never comes to an end, and the weft that searches for it does."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from clawft.builtin.matcher import CHILD
from tests.requirements import requirement
from tests.servers.pipe import mcp_server
from tests.upstream.support import until

pytestmark = pytest.mark.slow

A_WHILE = 50
"""Hundredths of a second."""


def matchers_of(pid: int) -> set[int]:
    """Processes that match patterns, started by any of its threads."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    children = {int(child) for file in lists for child in file.read_text().split()}
    return {child for child in children if CHILD.name in Path(f"/proc/{child}/cmdline").read_text()}


def stat_of(pid: int) -> list[str]:
    """From its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def is_at_work(pid: int) -> bool:
    try:
        return stat_of(pid)[0] != "Z"
    except FileNotFoundError:
        return False


def has_worked(pid: int) -> bool:
    """For longer than it takes to start."""
    return int(stat_of(pid)[11]) > A_WHILE


@requirement("QUAL-12", "CONF-21")
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "asked to end"])
async def test_nothing_of_it_goes_on_when_weft_has_ended(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "long.txt").write_text("a" * 60 + "!\n")
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        arguments = {"pattern": "(a+)+$", "regex": True}
        searching = asyncio.ensure_future(pipe.ask("tools/call", {"name": "file__search", "arguments": arguments}))
        await until(lambda: any(map(has_worked, matchers_of(pipe.pid))))
        processes = {pipe.pid, *matchers_of(pipe.pid)}
        os.kill(pipe.pid, how)
        await until(lambda: not any(map(is_at_work, processes)))
        searching.cancel()
        await asyncio.gather(searching, return_exceptions=True)

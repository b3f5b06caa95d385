"""Folders with more files than anybody wants to hold, and callers with more searches than anybody wants to wait for."""

import asyncio
import os
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.builtin import tree
from clawft.builtin.confine import confined
from clawft.builtin.file import MAX_LISTED_CHARS
from clawft.model import CallToolResult
from tests.builtin.ide.agent import agent
from tests.requirements import requirement

pytestmark = pytest.mark.slow

SOON = 5.0


def test_names_come_in_order_however_few_are_held(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_NAMES", 7)
    wanted = [f"{folder}{number:02}" for folder in ("", "a/", "a/b/") for number in range(21)]
    for path in wanted:
        (workspace / path).parent.mkdir(exist_ok=True)
        (workspace / path).write_text("")
    with confined(workspace, ".", "list") as top:
        found = [name for name, _ in tree.walk_tree(top, recursive=True)]
    assert sorted(found) == sorted([*wanted, "a", "a/b"])
    assert [name for name in found if "/" not in name] == [*(f"{number:02}" for number in range(21)), "a"]


def test_a_folder_of_many_files_fills_no_memory(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_NAMES", 500)
    for number in range(8_000):
        os.close(os.open(workspace / f"{number:05}{'x' * 200}", os.O_CREAT | os.O_WRONLY))
    tracemalloc.start()
    try:
        with confined(workspace, ".", "list") as top:
            assert sum(1 for _ in tree.walk_tree(top, recursive=False)) == 8_000
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024  # all names take more than two
    finally:
        tracemalloc.stop()


@requirement("EXEC-02")
async def test_searches_that_take_long_keep_no_other_file_tool_waiting(workspace: Path, home: Path) -> None:
    (workspace / "trap").write_text("a" * 3_000)
    (workspace / "note").write_text("plain")
    async with agent(workspace, home) as ours:
        hanging = [
            asyncio.create_task(ours.call("file__search", pattern="(a+)+b", regex=True, path="trap")) for _ in range(12)
        ]
        await asyncio.sleep(0.5)
        began = time.monotonic()
        assert (await ours.call("file__read", path="note"))["texts"] == ["plain"]
        assert (await ours.call("file__list"))["entries"]
        assert time.monotonic() - began < SOON
        for each in hanging:
            each.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)


async def test_paths_as_long_as_they_are_deep_are_listed_within_bounds(
    call: Callable[..., Awaitable[CallToolResult]], workspace: Path
) -> None:
    inner = "/".join(["d" * 200] * 18)
    (workspace / inner).mkdir(parents=True)
    for number in range(400):
        os.close(os.open(workspace / inner / f"{number:03}", os.O_CREAT | os.O_WRONLY))
    listed: Any = (await call("file", "list", recursive=True, limit=10_000)).structured_content
    assert listed["truncated"]
    assert sum(len(each["path"]) for each in listed["entries"]) <= MAX_LISTED_CHARS
    found: Any = (await call("file", "list", path="d" * 200, limit=10_000)).structured_content
    assert not found["truncated"]

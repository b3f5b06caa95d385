"""Stamps of files, and the word when something differs."""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path

from clawft.config.places import server_files
from clawft.config.watch import Stamps, folder_stamps, renewed, stamps, watch
from tests.requirements import requirement

PATIENCE_S = 10.0


@requirement("CONF-21")
def test_a_new_changed_or_missing_file_differs(tmp_path: Path) -> None:
    file = tmp_path / "a"
    nothing = stamps([file])
    assert nothing == {}
    file.write_text("1")
    first = stamps([file])
    assert stamps([file]) == first
    os.utime(file, ns=(1, 1))
    assert stamps([file]) != first
    assert renewed(nothing, folder_stamps(tmp_path)) == ["a"]
    assert folder_stamps(tmp_path / "none") == {}
    (tmp_path / ".tmp-0123").touch()
    assert list(folder_stamps(tmp_path)) == ["a"], "a file on its way in is no name yet"


@requirement("CONF-21", "CONF-05")
def test_every_layer_is_looked_at(home: Path, workspace: Path) -> None:
    (home / "mcp_servers").mkdir()
    (home / "mcp_servers" / "b.toml").touch()
    found = server_files(home, workspace, "coder", ("x.json", '{"mcpServers": {}}'))
    assert found == [
        home / "mcp_servers" / "b.toml",
        home / "config.toml",
        workspace / ".clawft" / "mcp.toml",
        workspace / ".mcp.json",
        home / "agents" / "coder" / "config.toml",
        Path("x.json"),
    ]


@requirement("CONF-21", "POOL-20")
async def test_a_file_that_never_stands_still_does_not_hold_up_the_others() -> None:
    told: list[tuple[Stamps, Stamps]] = []
    done = asyncio.Event()
    rounds = itertools.count()

    def look() -> Stamps:
        number = next(rounds)
        return {"restless": (number, 0, 1), **({"mine": (1, 0, 2)} if number else {})}

    async def changed(before: Stamps, now: Stamps) -> None:
        told.append((before, now))
        done.set()

    watching = asyncio.create_task(watch(look, look(), changed, seconds=0.001))
    async with asyncio.timeout(PATIENCE_S):
        await done.wait()
    watching.cancel()
    first = {"restless": (0, 0, 1)}
    assert told[0] == (first, {**first, "mine": (1, 0, 2)})


@requirement("CONF-21")
async def test_a_change_is_told_once_and_only_when_it_stands_still() -> None:
    seen: list[Stamps] = [{}, {"a": (1, 0, 1)}, {"a": (2, 0, 1)}, {"a": (2, 9, 1)}, {"a": (2, 9, 1)}, {"a": (2, 9, 1)}]
    told: list[tuple[Stamps, Stamps]] = []
    looked = asyncio.Event()

    def look() -> Stamps:
        now = seen.pop(0) if len(seen) > 1 else seen[0]
        if len(seen) == 1:
            looked.set()
        return now

    async def changed(before: Stamps, now: Stamps) -> None:
        told.append((before, now))

    async with asyncio.timeout(PATIENCE_S):
        watching = asyncio.create_task(watch(look, {}, changed, seconds=0))
        await looked.wait()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert told == [({}, {"a": (2, 9, 1)})]

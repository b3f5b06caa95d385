"""Servers of a workspace that are started again: what they would run is read first, and nobody waits for that."""

import asyncio
import json
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from clawft.config import launch_approval
from clawft.config.follow import ServerFiles
from clawft.config.layers import FoundServer, Sources
from clawft.config.servers import discover
from clawft.config.settings import Settings
from clawft.errors import SpawnFailed
from clawft.guard.approval.book import Approvals
from clawft.sandbox.pinned_file import PinnedFile
from tests.requirements import requirement

PATIENCE_S = 10.0


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "db"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def files(tmp_path: Path, program: Path) -> ServerFiles:
    """Of a workspace whose one server was approved."""
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"db": {"command": str(program)}}}))
    settings = Settings(home=tmp_path / "home", workspace=tmp_path)
    book = Approvals(settings.home)
    waiting = discover(Sources(settings.home, tmp_path, settings.agent)).waiting["db"]
    book.add(launch_approval.launch_approval(waiting, Sources(settings.home, tmp_path, settings.agent), book.clock()))
    return ServerFiles(settings, lambda: pytest.fail("nothing is started here"), book)


@requirement("POOL-20", "CONF-16")
async def test_reading_what_has_grown_large_keeps_nobody_waiting(
    files: ServerFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = threading.Event()

    def slowly(book: Approvals, found: FoundServer, sources: Sources) -> tuple[PinnedFile, ...]:
        assert read.wait(PATIENCE_S), "whoever could end this waits for it"
        raise SpawnFailed(f"{found.spec.name} has changed")

    monkeypatch.setattr(launch_approval, "cleared", slowly)
    asyncio.get_running_loop().call_soon(read.set)
    with pytest.raises(SpawnFailed, match="db has changed"):
        await files.ensure_approved(files.servers.found["db"].spec)


@requirement("POOL-20")
async def test_only_what_was_approved_is_started(files: ServerFiles, program: Path) -> None:
    spec = files.servers.found["db"].spec
    await files.ensure_approved(spec)
    program.write_text("#!/bin/sh\necho something else\n")
    with pytest.raises(SpawnFailed, match="db is not the launch you approved") as refused:
        await files.ensure_approved(spec)
    assert refused.value.hint.startswith("weft approvals grant db")


@requirement("CONF-16", "POOL-19")
async def test_what_is_swapped_while_it_is_approved_is_not_approved(
    tmp_path: Path, program: Path, files: ServerFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its look from outside it would be taken for what was read."""
    hook = tmp_path / "hook.js"
    hook.write_text("honest")
    entry = {"command": str(program), "env": {"NODE_OPTIONS": "--require=./hook.js"}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"db": entry}}))
    sources, book = Sources(tmp_path / "home", tmp_path, "default"), Approvals(tmp_path / "home")
    read, waiting = launch_approval.digests, discover(sources).waiting["db"]

    def swapped_behind(found: Mapping[str, str]) -> dict[str, str]:
        told = read(found)
        hook.write_text("hostile")
        return told

    monkeypatch.setattr(launch_approval, "digests", swapped_behind)
    book.add(launch_approval.launch_approval(waiting, sources, book.clock()))
    monkeypatch.undo()
    assert "db" in discover(sources).waiting
    hook.write_text("honest")
    assert "db" in discover(sources).found

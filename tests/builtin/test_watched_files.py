"""Files of the workspace that somebody watches."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.builtin import families, watched_files
from clawft.builtin.watched_files import WatchedFiles
from clawft.errors import Busy
from clawft.gateway.core import Gateway
from clawft.gateway.offer.resources import Reader
from clawft.model import Caller, SilentTalk
from clawft.store.memory import MemoryStore
from tests.requirements import requirement

pytestmark = requirement("RES-06")

SECONDS = 5.0
LOOK = 0.01


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_files, "LOOK_SECONDS", LOOK)


class Ear:
    """Counts what it hears."""

    def __init__(self) -> None:
        self.times = 0
        self._heard = asyncio.Event()

    def __call__(self) -> None:
        self.times += 1
        self._heard.set()

    async def heard(self) -> None:
        await asyncio.wait_for(self._heard.wait(), SECONDS)
        self._heard.clear()


def _write(file: Path) -> None:
    file.write_text("written")


def _write_as_long(file: Path) -> None:
    before = file.stat()
    file.write_text("x" * before.st_size)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def _put_another_in_its_place(file: Path) -> None:
    before = file.stat()
    other = file.with_name("other")
    other.write_text("x" * before.st_size)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)


@pytest.mark.parametrize("change", [_write, _write_as_long, _put_another_in_its_place, Path.unlink])
async def test_whatever_happens_to_a_file_is_heard(workspace: Path, change: Callable[[Path], None]) -> None:
    (workspace / "note.txt").write_text("first")
    ear = Ear()
    release = await WatchedFiles(workspace).add("note.txt", "ada", ear)
    change(workspace / "note.txt")
    await ear.heard()
    release()
    assert ear.times == 1


async def test_a_file_that_is_not_there_yet_is_heard_of_when_it_comes(workspace: Path) -> None:
    ear = Ear()
    release = await WatchedFiles(workspace).add("later/note.txt", "ada", ear)
    (workspace / "later").mkdir()
    (workspace / "later" / "note.txt").write_text("here")
    await ear.heard()
    release()


async def test_everyone_hears_until_they_stop_watching(workspace: Path) -> None:
    files, first, second = WatchedFiles(workspace), Ear(), Ear()
    stop = await files.add("note.txt", "ada", first)
    release = await files.add("note.txt", "ben", second)
    _write(workspace / "note.txt")
    await first.heard()
    await second.heard()
    stop()
    stop()
    (workspace / "note.txt").unlink()
    await second.heard()
    release()
    assert (first.times, second.times) == (1, 2)


async def test_what_is_outside_is_never_heard_of(workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("first")
    (workspace / "out").symlink_to(outside)
    files, hidden, plain = WatchedFiles(workspace), Ear(), Ear()
    paths = ("out", "../outside.txt", str(outside), "a\0b", "x" * 10_000)
    releases = [await files.add(path, "ada", hidden) for path in paths]
    releases.append(await files.add("note.txt", "ada", plain))
    for text in ("second", "third"):
        outside.write_text(text)
        (workspace / "note.txt").write_text(text * len(text))
        await plain.heard()
    for release in releases:
        release()
    assert hidden.times == 0


@requirement("QUAL-12")
async def test_nobody_watches_more_than_a_share(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_files, "MAX_WATCHES_OF_ONE", 2)
    monkeypatch.setattr(watched_files, "MAX_WATCHES", 3)
    files, ear = WatchedFiles(workspace), Ear()
    releases = [await files.add(path, "ada", ear) for path in ("one", "two")]
    with pytest.raises(Busy):
        await files.add("one", "ada", ear)
    releases.append(await files.add("one", "ben", ear))
    with pytest.raises(Busy):
        await files.add("one", "cat", ear)
    releases.pop(0)()
    releases.append(await files.add("one", "cat", ear))
    for release in releases:
        release()


async def test_nothing_is_looked_at_when_nobody_watches(workspace: Path) -> None:
    before = asyncio.all_tasks()
    files = WatchedFiles(workspace)
    releases = [await files.add(path, "ada", Ear()) for path in ("one", "two")]
    (looking,) = asyncio.all_tasks() - before
    for release in releases:
        release()
    await asyncio.wait([looking], timeout=SECONDS)
    assert looking.cancelled()


async def test_a_subscription_to_a_file_is_kept(workspace: Path) -> None:
    gateway, heard, ear = Gateway(), list[str](), Ear()
    for family in families(workspace, lambda agent, namespace: MemoryStore(), only={"file", "weft"}):
        gateway.register(family)

    def changed(uri: str, more: object) -> None:
        heard.append(uri)
        ear()

    by = Reader(Caller(), SilentTalk())
    release = await gateway.resources.watch("workspace:///a%20b.txt", by, changed)
    (workspace / "a b.txt").write_text("here")
    await ear.heard()
    release()
    assert heard == ["workspace:///a%20b.txt"]

"""Somebody swaps a folder for a link while a sandbox is built around it: then nobody is let in."""

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from clawft.builtin.process import TRIES, ProcessStart, run
from clawft.errors import SpawnFailed
from clawft.link.process import Launch, start
from clawft.sandbox import cell, walls
from clawft.sandbox.cell import Cell, CellStart
from clawft.sandbox.group import signal_group
from clawft.upstream.backoff import is_final
from tests.requirements import requirement
from tests.sandbox.held import RUN_S, House, let_in, means

pytestmark = [
    pytest.mark.slow,  # an interpreter for each
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]

COMMAND = ("/bin/sh", "-c", "cat .vscode/id_ed25519 .git/hooks/id_ed25519 2>/dev/null; echo ran")
SWAPPED = [".vscode", ".git/hooks"]


def secrets_in_place_of(house: House, name: str) -> None:
    place = house.workspace / name
    place.rename(place.with_name("moved"))
    place.symlink_to(os.path.relpath(house.home / ".ssh", place.parent))


@pytest.fixture
def furnished(house: House) -> House:
    for name in SWAPPED:
        (house.workspace / name).mkdir(parents=True)
    return house


@contextmanager
def begun(house: House, meanwhile: Callable[[], None]) -> Generator[tuple[CellStart, subprocess.Popen[str]]]:
    """A command that waits behind its walls, and what happened between the look at its rules and their building."""
    how = house.cell("bwrap", "auto", [*COMMAND], house.workspace).start(
        COMMAND, str(house.workspace), {"PATH": "/bin"}
    )
    meanwhile()
    with subprocess.Popen(
        how.argv,
        env=dict(how.env),
        cwd=house.workspace,
        pass_fds=how.descriptors,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        for descriptor in how.descriptors:
            os.close(descriptor)
        yield how, process


@requirement("POOL-22")
@pytest.mark.parametrize("name", SWAPPED)
def test_whoever_swaps_a_folder_for_a_link_opens_no_secret(furnished: House, name: str) -> None:
    with begun(furnished, lambda: secrets_in_place_of(furnished, name)) as (how, process):
        assert how.gate is not None
        assert str(furnished.workspace / name) in how.gate.wrong()
        signal_group(process.pid)
        how.gate.close()
        assert process.communicate(timeout=RUN_S)[0] == ""


@requirement("POOL-22")
@pytest.mark.parametrize("name", SWAPPED)
def test_without_a_look_at_the_walls_it_is_open(furnished: House, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell, "walls_of", _none)
    with begun(furnished, lambda: secrets_in_place_of(furnished, name)) as (how, process):
        assert how.gate is None
        assert process.communicate(timeout=RUN_S)[0] == "secretran\n"


def _none(*_: object) -> tuple[()]:
    return ()


@requirement("POOL-22")
def test_where_nobody_does_it_is_let_in(furnished: House) -> None:
    with begun(furnished, lambda: None) as (how, process):
        let_in(how)
        assert process.communicate(timeout=RUN_S)[0] == "ran\n"


@requirement("POOL-22")
def test_one_that_is_not_built_in_time_is_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said of it, and the pipe stays open."""
    monkeypatch.setattr(walls, "BUILD_SECONDS", 0.01)
    gate = walls.Gate(())
    assert gate.wrong() == "after 10 s it was not built"
    gate.close()
    for descriptor in gate.descriptors:
        os.close(descriptor)


class Swapped(Cell, frozen=True, kw_only=True):
    """A cell in which a file is written anew as editors do, so many times."""

    file: Path
    times: list[None]

    def start(self, *what: Any, **more: Any) -> CellStart:
        how = Cell.start(self, *what, **more)
        if self.times:
            self.times.pop()
            (other := self.file.with_name("other")).write_text("[core]\n")
            os.replace(other, self.file)
        return how


def swapped(house: House, times: int) -> Swapped:
    file = house.workspace / ".git" / "config"
    file.write_text("")
    plain = house.cell("bwrap", "auto", [*COMMAND], house.workspace)
    return Swapped(plain.bounds, plain.means, plain.memory, file=file, times=[None] * times)


@requirement("POOL-22")
async def test_a_server_that_is_not_let_in_is_tried_again(furnished: House) -> None:
    once = swapped(furnished, 1)
    child = start(Launch(COMMAND[0], COMMAND[1:], cwd=str(furnished.workspace), confine=lambda argv, cwd: once))
    with pytest.raises(SpawnFailed) as told:
        await child.let_in()
    assert await child.ended != 0
    child.close_pipes()
    assert not is_final(told.value)
    assert str(once.file) in told.value.message


@requirement("POOL-22")
@pytest.mark.parametrize(("times", "said"), [(TRIES - 1, b"ran\n"), (TRIES, b"")])
async def test_so_is_a_command_a_few_times(furnished: House, times: int, said: bytes) -> None:
    heard = bytearray()
    begin = ProcessStart(COMMAND, str(furnished.workspace), {"PATH": "/bin"}, RUN_S, cell=swapped(furnished, times))
    with nullcontext() if said else pytest.raises(SpawnFailed, match="somebody changes what its sandbox is made of"):
        await run(begin, heard.extend, heard.extend)
    assert bytes(heard) == said


QUICK_ENOUGH = """
import sys
from clawft.sandbox import landlock
key, granted, *readable = sys.argv[1:]
landlock.grants = lambda rules: [(path, "read") for path in (granted, *readable)]
landlock.restrict({}, landlock.abi())
print(open(key).read())
"""
"""Between the look at what is there and the grant somebody puts a link on the way."""


@requirement("POOL-22")
@pytest.mark.parametrize(("through", "opened"), [("link", False), (".ssh", True)])
def test_nor_does_landlock_open_what_a_link_leads_to(house: House, through: str, opened: bool) -> None:
    means("landlock")
    (house.home / ".ssh" / "keys").mkdir()
    (key := house.home / ".ssh" / "keys" / "key").write_text("secret")
    (house.home / "link").symlink_to(house.home / ".ssh")
    granted = house.home / through / "keys"
    ran = subprocess.run(
        [sys.executable, "-c", QUICK_ENOUGH, key, granted, sys.prefix, "/usr", "/lib"],
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert (ran.stdout == "secret\n", "PermissionError" in ran.stderr) == (opened, not opened), ran

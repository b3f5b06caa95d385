"""A command that was approved with a file is given what was in that, and is not believed if it may have had another."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.config.scripts import read_pinned
from tests.requirements import requirement
from tests.sandbox.held import House

only_on_linux = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")


def rewritten(script: Path) -> None:
    script.write_text("echo other\n")


def replaced(script: Path) -> None:
    os.replace(other_beside(script), script)


def other_beside(script: Path) -> Path:
    other = script.with_name("other.sh")
    other.write_text("echo other\n")
    return other


def replaced_and_back(script: Path) -> None:
    kept = script.with_name("kept.sh")
    os.rename(script, kept)
    replaced(script)
    os.replace(kept, script)


def rewritten_and_back(script: Path) -> None:
    before, seen = script.read_bytes(), script.stat()
    rewritten(script)
    script.write_bytes(before)
    os.utime(script, ns=(seen.st_atime_ns, seen.st_mtime_ns))


@pytest.fixture
def script(house: House) -> Path:
    file = house.workspace / "server.sh"
    file.write_text("echo approved; echo more 2>/dev/null >>server.sh && echo written\n")
    return file


@requirement("CONF-16", "POOL-19")
@only_on_linux
@pytest.mark.parametrize("swap", [rewritten, replaced, Path.unlink])
def test_it_is_given_what_was_looked_at_whatever_is_there_by_then(
    house: House, script: Path, swap: Callable[[Path], None]
) -> None:
    pinned = tuple(read_pinned([str(script)], str(house.workspace)))
    swap(script)
    ran = house.run("bwrap", ["/bin/sh", "server.sh"], pinned=pinned)
    assert ran.stdout == "approved\n", ran


@requirement("CONF-16")
@only_on_linux
def test_its_mode_comes_with_it(house: House, script: Path) -> None:
    script.write_text("#!/bin/sh\necho approved\n")
    script.chmod(0o755)
    pinned = tuple(read_pinned([str(script)], str(house.workspace)))
    rewritten(script)
    assert house.run("bwrap", [str(script)], pinned=pinned).stdout == "approved\n"


@requirement("CONF-16")
@pytest.mark.parametrize("swap", [rewritten, replaced, replaced_and_back, rewritten_and_back, Path.unlink])
def test_who_touches_it_is_noticed_even_if_all_is_as_before(
    house: House, script: Path, swap: Callable[[Path], None]
) -> None:
    files = tuple(read_pinned([str(script)], str(house.workspace)))
    other_beside(script)
    assert files[0].content == script.read_bytes()
    assert not any(file.touched for file in files)
    swap(script)
    assert [file.path for file in files if file.touched] == [str(script)]


@requirement("CONF-16")
def test_only_what_lies_in_the_workspace_is_read(house: House, script: Path) -> None:
    system, pipe = house.home / "letter.txt", house.workspace / "pipe"
    (house.workspace / "link").symlink_to(system)
    os.mkfifo(pipe)
    named = [str(system), str(house.workspace / "link"), str(pipe), str(house.workspace / "none"), str(script)]
    read = {file.path: file.content for file in read_pinned(named, str(house.workspace))}
    assert read == {named[0]: None, named[1]: None, named[2]: None, named[4]: script.read_bytes()}

"""Files of our own home that somebody, or a dying disk, has spoiled: whatever stands there, honest calls are served.

Every case is one file and one way to spoil it. Nothing may hang, end with a traceback, or be read without a bound.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.pipe import Json, Pipe, mcp_server, text_of
from tests.servers.weft import RSS_LIMIT, weft

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")]

TINY = Path(__file__).parents[1] / "servers" / "tiny.py"
SPARSE_BYTES = 1024 * 1024 * 1024
DEEP = b'{"a":' + b"[" * 200_000


def to_bad_text(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"e", b"\xff"))


def to_deep_json(file: Path) -> None:
    file.write_bytes(DEEP)


def to_a_huge_file(file: Path) -> None:
    os.truncate(file, SPARSE_BYTES)


def to_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def to_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


WAYS: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (to_bad_text, to_deep_json, to_a_huge_file, to_a_pipe, to_a_folder)
}
FILES = ("approvals.json", "cache/sandbox.json", "cache/servers/one.json", "audit/audit.head")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """As it is after a first call."""
    assert weft(tmp_path, "servers", "add", "one", "--", sys.executable, str(TINY)).returncode == 0
    assert weft(tmp_path, "approvals", "grant", "one", "*").returncode == 0
    assert weft(tmp_path, "tools", "call", "one__echo", "text=1").stdout == "tiny: 1\n"
    return tmp_path / "home"


async def called(pipe: Pipe, tool: str, **arguments: str) -> Json:
    return await pipe.ask("tools/call", {"name": tool, "arguments": arguments})


@requirement("POOL-20", "POOL-09", "GUARD-11")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FILES)
async def test_a_spoiled_file_holds_nobody_up(home: Path, tmp_path: Path, name: str, way: str) -> None:
    WAYS[way](home / name)
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        await pipe.is_well()
        said = text_of(await called(pipe, "one__echo", text="2"))
        assert said.startswith("refused by the rule approval" if name == "approvals.json" else "tiny: 2")
        assert pipe.peak() <= RSS_LIMIT
        assert await pipe.end() == 0
    assert "Traceback" not in pipe.stderr()


@requirement("POOL-22")
async def test_what_others_could_have_written_is_not_put_before_a_command(home: Path, tmp_path: Path) -> None:
    """The attack: the file that remembers how children are held names a program of the attacker's."""
    remembered = home / "cache" / "sandbox.json"
    ran = tmp_path / "ran"
    evil = tmp_path / "evil"
    evil.write_text(f'#!/bin/sh\ntouch {ran}\nexec "$@"\n')
    evil.chmod(0o755)
    put_before = re.compile(r'"(limits|leash|alone|away)":\["')
    remembered.write_text(put_before.sub(lambda found: f'{found[0]}{evil}","', remembered.read_text()))
    assert str(evil) in remembered.read_text()
    remembered.chmod(0o666)
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        assert text_of(await called(pipe, "one__echo", text="2")) == "tiny: 2"
        assert await pipe.end() == 0
    assert not ran.exists()

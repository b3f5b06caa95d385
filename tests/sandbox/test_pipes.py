"""The input and output of a server in its sandbox: nobody else holds them, and nothing else about it changes."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clawft.link.process import Launch, start
from clawft.sandbox import cell, pipes
from clawft.sandbox.bounds import SandboxTable
from clawft.sandbox.cell import Cell, CellStart
from clawft.sandbox.probe import MAX_TASKS, handing
from tests import system
from tests.requirements import requirement
from tests.sandbox.held import RUN_S, House, means, programs
from tests.security.siege import hostile, siege
from tests.security.test_hostile_servers import said
from tests.servers.pipe import Json

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

LONG_MS = 300_000
"""The deadline of a call: far behind everything that is waited for here."""
AT_ONCE_S = 20.0
"""It takes a tenth of a second; this is for a busy machine."""
MISSING = {"bwrap": (), "landlock": ("bwrap", "unshare"), "landlock-alone": ("bwrap",)}
"""What a machine lacks that has this to hold a server with."""

TELL = """
import json, os, resource, sys
names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
sys.stdout.write(json.dumps({
    "argv": [os.fsencode(word).hex() for word in sys.orig_argv],
    "env": {key.hex(): value.hex() for key, value in os.environb.items()},
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in names},
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "cwd": os.getcwd(), "leads": [os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()], "umask": os.umask(0),
    "ignored": [line for line in open("/proc/self/status") if line.startswith(("SigIgn", "SigBlk", "SigCgt"))],
    "input": sys.stdin.read(),
}))
sys.exit(int(os.environ.get("STATUS", "0")))
"""
NASTY = [*(bytes([number]) for number in range(1, 256)), bytes(range(1, 256)), b"", b"$(id)", b"a\nb", b"-n", b"&&"]


# ── from outside ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("LINK-08", "POOL-22")
@pytest.mark.slow
@pytest.mark.parametrize("case", ["deaf", "blind"])
@pytest.mark.parametrize("level", MISSING)
async def test_a_server_that_closes_a_pipe_and_lives_is_noticed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, case: str
) -> None:
    means(level)
    if MISSING[level]:
        monkeypatch.setenv("PATH", str(programs(tmp_path / "programs", *MISSING[level])))
    async with siege(tmp_path, hostile(case, timeout=LONG_MS)) as besieged:
        for _ in range(2):  # it comes back in between
            await besieged.until_listed("hostile__poke")
            async with asyncio.timeout(AT_ONCE_S):
                answer = await besieged.poke()
            assert "closed its output or stopped reading" in said(answer)


# ── and all else is as it was ────────────────────────────────────────────────────────────────────────────────────────


class Plain(Cell, frozen=True):
    """As commands are held that nobody talks with: whoever stays around them has their pipes too."""

    def start(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], **how: Any) -> CellStart:
        return Cell.start(self, argv, cwd, env)


async def tell(held: Cell, *words: bytes, **env: str) -> tuple[int, Json]:
    """What a server sees of itself, and its exit status."""
    args = ("-I", "-c", TELL, *map(os.fsdecode, words))
    child = start(Launch(sys.executable, args, env, "/usr", lambda argv, cwd: held))
    async with asyncio.timeout(RUN_S):
        said, complaints = await asyncio.to_thread(child.pipes.communicate, b"said")
        status = await child.ended
    assert complaints == b""
    seen = json.loads(said)
    seen["env"].pop(b"TMPDIR".hex(), "")  # another one each time
    return status, seen


@requirement("LINK-08", "LINK-03", "SEC-A04")
@pytest.mark.parametrize(
    ("level", "setting"), [("bwrap", "auto"), ("bwrap", "strict"), ("landlock-alone", "auto"), ("landlock", "auto")]
)
async def test_words_variables_limits_and_status_are_what_they_would_be(
    house: House, level: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell, "tasks_among_all", lambda: MAX_TASKS)  # others come and go meanwhile
    held = house.cell(level, setting, [sys.executable], Path("/usr"))
    env = {f"V{number}": os.fsdecode(value) for number, value in enumerate(NASTY)}
    now = await tell(held, *NASTY, STATUS="7", **env)
    assert now == await tell(Plain(held.bounds, held.means, held.memory), *NASTY, STATUS="7", **env)
    status, seen = now
    assert (status, seen["input"], seen["descriptors"]) == (7, "said", ["0", "1", "2", "3"])
    assert seen["argv"][-len(NASTY) :] == [word.hex() for word in NASTY]


@requirement("LINK-08", "POOL-22")
async def test_with_hosts_that_are_listed_too(house: House) -> None:
    """What opens the way out gets its socket, whatever else is open."""
    held = house.cell("bwrap", SandboxTable(read=(sys.prefix,), network=("a.example",)), [sys.executable], Path("/usr"))
    status, seen = await tell(held)
    assert (status, seen["input"], seen["descriptors"]) == (0, "said", ["0", "1", "2", "3"])


@pytest.mark.parametrize(
    "odd", ["a.b", "npm_config_//host/:_token", "BASH_FUNC_ls%%", "BASH_ENV", "IFS", "OPTIND", "PWD", "PPID", "SHLVL"]
)
@requirement("LINK-08", "LINK-03")
def test_a_server_with_a_variable_that_a_shell_would_change_is_started_without_one(odd: str) -> None:
    assert not pipes.are_kept({"PATH": "/bin", odd: "x"})
    assert not pipes.are_kept({"HOME": "/"})
    assert pipes.are_kept({"PATH": "/bin", "HOME": "/", "a_B_1": "x"})


@requirement("LINK-08")
def test_where_the_shell_cannot_do_it_a_server_starts_as_before(house: House) -> None:
    held = house.cell("bwrap", "auto", [sys.executable], Path("/usr"))
    lacking = Cell(held.bounds, replace(held.means, away=(), back=()))
    how = lacking.start(["/bin/true"], "/usr", {"PATH": "/bin"}, own_pipes=True)
    for descriptor in how.descriptors:
        os.close(descriptor)
    assert how.argv[0] == held.means.bwrap
    assert how.argv[4:-1] == held.means.inner_limits


# ── shells ───────────────────────────────────────────────────────────────────────────────────────────────────────────


WALL = ("/usr/bin/env", "-C", "/", "PWD=/")
"""Does as bubblewrap does, and shows the shell that a test has put somewhere."""


@pytest.fixture
def shell(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another one in place of this machine's: a program, or a text that is one."""
    file, wanted = tmp_path / "sh", str(request.param)
    if wanted.startswith("#!"):
        file.write_text(wanted)
        file.chmod(0o755)
    elif (found := shutil.which(wanted)) is not None:
        file.symlink_to(found)
    else:
        system.missing(wanted)
    monkeypatch.setattr(pipes, "SHELL", str(file))
    return file


@requirement("LINK-08", "LINK-03")
@pytest.mark.parametrize("shell", ["sh", "bash", "busybox"], indirect=True)
def test_each_shell_leaves_nothing_behind_and_sets_the_limits(shell: Path) -> None:
    away, back = handing((), WALL)
    assert away[0] == back[0] == str(shell)
    env = {"PATH": "/usr/bin:/bin", **{f"V{number}": os.fsdecode(value) for number, value in enumerate(NASTY)}}
    words = [sys.executable, "-I", "-c", TELL, *map(os.fsdecode, NASTY)]
    seen, plain = (
        json.loads(subprocess.run(argv, env=env, input=b"", capture_output=True, check=True, cwd="/").stdout)
        for argv in ([*away, *WALL, *back, *words], [*WALL, *means("free").inner_limits, *words])
    )
    assert seen == plain


@requirement("LINK-08", "LINK-03")
@pytest.mark.parametrize(
    "shell",
    [
        "#!/bin/sh\nexit 1\n",
        '#!/bin/sh\nPATH=/elsewhere:$PATH exec /bin/sh "$@"\n',
    ],
    ids=["fails", "changes a variable"],
    indirect=True,
)
def test_a_shell_that_does_something_else_is_not_used(shell: Path) -> None:
    assert handing((), WALL) == ((), ()), shell

"""A home with secrets, and commands that run in it: free, or held by each means this machine has."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from clawft.sandbox.bounds import SandboxTable
from clawft.sandbox.cell import Cell, CellStart
from clawft.sandbox.pinned_file import PinnedFile
from clawft.sandbox.probe import Means, probe
from clawft.upstream.cells import Cells
from clawft.upstream.spec import UpstreamSpec
from tests import system
from tests.sandbox import attacks

ATTACKS = str(Path(attacks.__file__))
RUN_S = 30.0
LEVELS = ("bwrap", "landlock", "landlock-alone")
"""`alone`: with a namespace of processes around it."""


@cache
def means(level: str) -> Means:
    """What this machine has of a level; the test is skipped, loudly, where it has not."""
    if level == "free":
        return probe(bubblewrap=False)
    if level == "bwrap":
        found = probe()
        if found.level != "bwrap":
            system.missing("bwrap", found.reason)
        return found
    found = probe(bubblewrap=False)
    if found.level != "landlock":
        pytest.skip(f"no Landlock: {found.reason}")
    if level == "landlock":
        return replace(found, alone=())
    if level == "landlock-bare":
        return replace(found, alone=(), leash=(), limits=(), inner_limits=())
    if not found.alone:
        pytest.skip("no namespace of processes without bubblewrap")
    return found


@dataclass
class House:
    """Folders of a user, with a workspace in his home."""

    home: Path
    state: Path
    workspace: Path

    def cell(self, level: str, setting: str | SandboxTable, argv: list[str], cwd: Path) -> Cell:
        spec = UpstreamSpec("held", command=argv[0], cwd=str(cwd), sandbox="off" if level == "free" else setting)
        made = Cells(self.state, self.workspace).cell(spec, argv, os.path.realpath(cwd))
        return Cell(made.bounds, means(level), made.memory)

    def run(
        self,
        level: str,
        argv: list[str],
        setting: str | SandboxTable = "auto",
        cwd: Path | None = None,
        *,
        pinned: Sequence[PinnedFile] = (),
        **more: str,
    ) -> subprocess.CompletedProcess[str]:
        """As a server runs."""
        folder = cwd or self.workspace
        env = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", **more}
        how = self.cell(level, setting, argv, folder).start(
            argv, os.path.realpath(folder), env, own_pipes=level == "bwrap", pinned=pinned
        )
        with subprocess.Popen(
            how.argv,
            env=dict(how.env),
            cwd=folder,
            pass_fds=how.descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            for descriptor in how.descriptors:
                os.close(descriptor)
            let_in(how)
            said, complained = process.communicate(timeout=RUN_S)
        return subprocess.CompletedProcess(how.argv, process.returncode, said, complained)

    def attack(self, level: str, *what: str, setting: str | SandboxTable = "auto") -> bool:
        """Whether it got through."""
        ran = self.run(level, [sys.executable, ATTACKS], setting, ATTACK="\n".join(what))
        through, held = ran.stdout.strip() == "through", ran.stderr.startswith("held: ")
        assert through != held, ran  # it ran at all
        return through


def let_in(how: CellStart) -> None:
    """Whoever waits behind the walls of this cell, if they stand."""
    if how.gate is not None:
        assert how.gate.wrong() == ""
        how.gate.close()


def programs(folder: Path, *without: str) -> Path:
    """A folder with the programs of this machine but these, to be the PATH."""
    folder.mkdir()
    for place in reversed(("/usr/local/bin", "/usr/bin", "/bin")):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            (folder / program.name).unlink(missing_ok=True)
            (folder / program.name).symlink_to(program)
    for name in without:
        (folder / name).unlink(missing_ok=True)
    return folder


def furnish(folder: Path) -> House:
    house = House(folder / "home", folder / "home" / ".clawft", folder / "home" / "work" / "project")
    house.workspace.mkdir(parents=True)
    for name in (".ssh/id_ed25519", ".aws/credentials", ".clawft/gateway.token", ".config/gcloud/key", "letter.txt"):
        file = house.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("secret")
    (house.home / ".netrc").write_text("secret")
    return house

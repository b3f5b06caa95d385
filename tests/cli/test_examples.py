"""What `--help` shows can be typed as it stands: each line is run by a shell, where there is what it names."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from clawft.cli.examples import EXAMPLES, FIRST, of
from clawft.cli.main import COMMANDS, parser_of, verbs_of
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time

HERE = Path(__file__).parents[2]
TINY = HERE / "tests" / "servers" / "tiny.py"
SHOWN = 78
"""Columns of a line, behind its indent, at a terminal of 80."""

SERVE = ("gateway", "serve-model")
"""They go on until somebody stops them."""
ELSEWHERE = ("auth login", "auth refresh", "auth logout", "auth allow", "auth store")
"""They need a service that knows us, or a keyring: such lines are read, and run by the tests of logins."""

PATHS = [f"{command} {verb}".strip() for command in COMMANDS for verb in verbs_of(command)]


@requirement("AGENT-14")
def test_every_command_has_examples() -> None:
    assert sorted(EXAMPLES) == sorted(PATHS)
    assert all(len(line) <= SHOWN for path in ("", *COMMANDS, *PATHS) for line in of(path))


@requirement("AGENT-14")
@pytest.mark.parametrize("path", PATHS)
def test_examples_are_read_as_they_are_meant(path: str) -> None:
    command, _, verb = path.partition(" ")
    for line in EXAMPLES[path]:
        words = shlex.split(line.replace('"$(', "").replace(')"', ""), comments=True)
        own = words[words.index("weft") + 1 :]
        assert " ".join(own[: len(path.split())]) == path
        behind = own[len(path.split()) :]
        until = behind.index(">") if ">" in behind else len(behind)
        parser_of(f"weft {path}", verbs_of(command)[verb]).read(behind[:until])


@requirement("AGENT-14")
def test_help_ends_with_them(run: Any) -> None:
    assert run("--help").out.endswith("examples:\n" + "".join(f"  {line}\n" for line in FIRST))
    assert run("tools", "--help").out.endswith("\n  weft tools call file__read path=README.md\n")
    assert run("audit", "show", "--help").out.endswith("\nexamples:\n  weft audit show 1\n")


# ── run ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

Shell = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def surroundings(home: Path, workspace: Path, environment: Mapping[str, str], weft: list[str]) -> dict[str, str]:
    """A folder with a README, a server that is called notes, and the programs the lines speak of."""
    (workspace / "README.md").write_text("# weft\n\nThree\nlines.\n")
    shutil.copytree(HERE / "examples", workspace / "examples")
    (workspace / "more.json").write_text('["list_notes", "get_note"]')
    servers = home / "mcp_servers"
    servers.mkdir(mode=0o700)
    args = [str(TINY), "--also", str(workspace / "more.json")]
    _private(servers / "notes.toml", f"command = {sys.executable!r}\nargs = {args!r}\n")
    person = workspace.parent / "person"
    (person / "src" / "shop").mkdir(parents=True)
    (person / ".config" / "fish" / "completions").mkdir(parents=True)
    programs = workspace.parent / "bin"
    programs.mkdir()
    _program(programs / "weft", f'exec {shlex.join(weft)} "$@"')
    for name in ("uvx", "npx"):
        _program(programs / name, "exit 1")
    return {**environment, "HOME": str(person), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


def _private(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def shell(surroundings: dict[str, str], workspace: Path) -> Shell:
    def shell(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line],
            cwd=workspace,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return shell


BEFORE: Mapping[str, str] = {
    "approvals diff": "weft approvals grant notes '*'",
    "approvals export": "weft approvals grant notes '*'",
    "approvals import": "weft approvals grant notes '*' && weft approvals export --output approvals.json",
    "approvals revoke": "weft approvals grant notes '*'",
    "audit show": "weft tools call memory__list",
    "servers enable": "weft servers disable notes",
    "servers remove": "weft servers add wiki https://mcp.example.com/mcp",
}
"""What a line needs that somebody did before."""


@requirement("AGENT-14")
@pytest.mark.parametrize("path", [path for path in PATHS if path not in (*SERVE, *ELSEWHERE)])
def test_examples_run(path: str, shell: Shell) -> None:
    if path in BEFORE:
        assert shell(BEFORE[path]).returncode == 0
    for line in EXAMPLES[path]:
        if "--learn" in line and shutil.which("strace") is None:
            continue
        done = shell(line)
        assert (line, done.returncode, done.stderr if done.returncode else "") == (line, 0, "")


@requirement("AGENT-14")
@pytest.mark.parametrize("line", [line for path in SERVE for line in EXAMPLES[path]])
def test_examples_that_serve_run_until_they_are_stopped(
    line: str, surroundings: dict[str, str], workspace: Path
) -> None:
    words = [*shlex.split(line, comments=True), "--port", "0"]
    process = subprocess.Popen(words, cwd=workspace, env=surroundings, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "http://127.0.0.1:" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0

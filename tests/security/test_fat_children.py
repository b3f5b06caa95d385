"""What runs as a child says far more than anybody can read: a repository of a few kilobytes, builders, their reports.

Memory stays bounded, and everybody else is answered while we read it.
"""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builtin.git.plain import git, new
from tests.requirements import requirement
from tests.servers.pipe import Json, Pipe, call, mcp_server
from tests.servers.weft import RSS_LIMIT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HELD_UP_S = 15.0
"""Nobody waits longer for a word of ours, on a machine that does ten other things; alone it is 0.1 s."""
PATIENCE_S = 120.0


@asynccontextmanager
async def serving(folder: Path, *options: str) -> AsyncGenerator[Pipe]:
    """At the end: memory was bounded."""
    async with mcp_server(folder, *options) as pipe:
        await pipe.open()
        yield pipe
        assert pipe.peak() < RSS_LIMIT, f"{pipe.peak() // 1024**2} MiB"


async def called(pipe: Pipe, tool: str, **arguments: Any) -> Json:
    """The answer of one call; while it is on its way, everybody else is answered in time."""
    await pipe.send(call("fat", tool, arguments))
    async with asyncio.timeout(PATIENCE_S):
        while not (seen := [message for message in pipe.others if message.get("id") == "fat"]):
            began = time.monotonic()
            await pipe.ask("ping")
            assert time.monotonic() - began < HELD_UP_S
    pipe.others.clear()
    return seen[0]


def with_a_fat_commit(repo: Path, lines: int) -> None:
    """A file of so many lines; git keeps it in some kilobytes."""
    data = b"a\n" * lines
    who = b"committer Ada <ada@example.org> 1600000000 +0000\n"
    head = b"commit refs/heads/main\n" + who + b"data 3\nfat\n"
    git(repo, "fast-import", "--quiet", stdin=head + b"M 644 inline fat\ndata %d\n%s\n" % (len(data), data))
    git(repo, "reset", "--quiet", "--hard")


@requirement("GIT-06", "QUAL-03", "QUAL-12")
@pytest.mark.parametrize("arguments", [{}, {"file_path": "fat"}])
async def test_a_commit_of_millions_of_lines(tmp_path: Path, arguments: Json) -> None:
    with_a_fat_commit(new(tmp_path / "r"), 2_600_000)
    async with serving(tmp_path) as pipe:
        answer = await called(pipe, "git__show", repo_path="r", **arguments)
        assert answer["result"]["structuredContent"]["next_cursor"]


@requirement("GIT-06", "QUAL-12")
async def test_a_commit_that_is_larger_than_what_git_may_say(tmp_path: Path) -> None:
    with_a_fat_commit(new(tmp_path / "r"), 12_000_000)
    async with serving(tmp_path) as pipe:
        answer = await called(pipe, "git__show", repo_path="r")
        assert answer["result"]["structuredContent"]["next_cursor"]
        answer = await called(pipe, "git__show", repo_path="r", hunks=False)
        assert answer["result"]["structuredContent"]["additions"] == 12_000_000


@requirement("GIT-05", "QUAL-03", "QUAL-12")
async def test_half_a_million_branches(tmp_path: Path) -> None:
    repo = new(tmp_path / "r")
    with_a_fat_commit(repo, 1)
    commit = git(repo, "rev-parse", "HEAD").decode().strip()
    head = "# pack-refs with: peeled fully-peeled sorted \n"
    refs = "".join(f"{commit} refs/heads/b{number:06}\n" for number in range(500_000))
    (repo / ".git" / "packed-refs").write_text(head + refs)
    async with serving(tmp_path) as pipe:
        answer = await called(pipe, "git__branch", repo_path="r")
        assert answer["result"]["structuredContent"]["next_cursor"]


REPORTER = """#!{python}
import sys
[file] = [word.split("=", 1)[1] for word in sys.argv if word.startswith(("--outputFile=", "--junitxml="))]
open(file, "w").write({text})
"""
JUNIT = "'<testsuite><testcase name=\"a\"><failure message=\"m\">' + {} + '</failure></testcase></testsuite>'"
REPORTS = {
    "short lines": ("pytest", JUNIT.format("'a\\n' * 8_300_000")),
    "elements": ("pytest", JUNIT.format("'a<b/>' * 3_300_000")),
    "wide letters": ("pytest", JUNIT.format("'a' * 16_000_000 + chr(0x1F600)")),
    "cases": ("pytest", "'<testsuite>' + '<testcase/>' * 1_500_000 + '</testsuite>'"),
    "too large": ("pytest", "'<testsuite>' + 'a' * 20_000_000 + '</testsuite>'"),
    "objects": ("jest", "'{\"testResults\":[' + '{},' * 499_000 + '{}]}'"),
    "more objects": ("jest", "'{\"testResults\":[' + '{},' * 5_500_000 + '{}]}'"),
    "letters": ("jest", "'{\"testResults\":[{\"name\":\"' + 'a' * 16_000_000 + chr(0x1F600) + '\"}]}'"),
}


@asynccontextmanager
async def working(folder: Path, runner: str) -> AsyncGenerator[tuple[Pipe, Path]]:
    """In a workspace that its owner trusts, with a task `fat`."""
    workspace, home = folder / "workspace", folder / "home"
    (workspace / ".clawft").mkdir(parents=True)
    (workspace / ".clawft" / "tasks.toml").write_text(f'[tasks.fat]\nrunner = "{runner}"\n')
    home.mkdir(mode=0o700)
    (home / "trusted").write_text(f"{workspace}\n")
    (home / "trusted").chmod(0o600)
    async with serving(folder, "--workspace", str(workspace)) as pipe:
        yield pipe, workspace


@requirement("QUAL-03", "QUAL-12")
@pytest.mark.parametrize("kind", REPORTS)
async def test_a_report_that_is_made_to_fill_our_memory(tmp_path: Path, kind: str) -> None:
    runner, text = REPORTS[kind]
    async with working(tmp_path, runner) as (pipe, workspace):
        program = workspace / {"pytest": "venv/bin/python", "jest": "node_modules/.bin/jest"}[runner]
        program.parent.mkdir(parents=True)
        program.write_text(REPORTER.format(python=sys.executable, text=text))
        program.chmod(0o755)
        answer = await called(pipe, "build__run", task="fat")
        assert answer["result"]["structuredContent"]["success"], answer


LINES = {
    "findings": "print(f'a:{n}:1: error: {n}' + 'x' * 900_000)",
    "short": "print('xx\\n' * 12_000)",
    "no end": "print('x' * 900_000, end='')",
    "numbers": "print('a:' + '9' * 900_000 + ': error: x')",
}


@requirement("QUAL-03", "QUAL-12")
@pytest.mark.parametrize("kind", LINES)
async def test_a_builder_that_never_stops_talking(tmp_path: Path, kind: str) -> None:
    async with working(tmp_path, "make") as (pipe, workspace):
        (workspace / "Makefile").write_text(f"all:\n\t@{sys.executable} talk.py\n")
        (workspace / "talk.py").write_text(f"for n in range(250):\n    {LINES[kind]}\nprint()\nprint('the end')\n")
        answer = await called(pipe, "build__run", task="fat")
        assert answer["result"]["structuredContent"]["stdout"].endswith("the end\n"), answer
    assert "Traceback" not in pipe.stderr()

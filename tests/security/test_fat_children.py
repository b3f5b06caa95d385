"""What runs as a child says far more than anybody can read: a repository of a few kilobytes, builders, their reports.

Memory stays bounded, and everybody else is answered while we read it.
"""

import asyncio
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

HELD_UP_S = 2.0
"""Nobody waits longer for a word of ours, on a machine that does ten other things; it was 4 to 5 s on an idle one."""
PATIENCE_S = 120.0


@asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[Pipe]:
    """At the end: memory was bounded."""
    async with mcp_server(folder) as pipe:
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
async def test_a_commit_that_is_larger_than_its_bound(tmp_path: Path) -> None:
    with_a_fat_commit(new(tmp_path / "r"), 12_000_000)
    async with serving(tmp_path) as pipe:
        answer = await called(pipe, "git__show", repo_path="r")
        assert "git gave more than" in answer["result"]["content"][0]["text"]
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

"""A history of more than 20,000 commits: the tools stay close to plain git. Measured in turns and printed (`-s`)."""

import shutil
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.builtin.git.plain import Tools, environment, git, new
from tests.requirements import requirement

COMMITS = 20_500
FILES = 3_000
ROUNDS = 9
GENEROUS = 5.0
"""The aim is 1.5; a busy machine with other work may not be a reason to fail."""
LOG_SECONDS = 0.2
WHO = b"Ada <ada@example.org> %d +0000\n"


def stream() -> bytes:
    parts: list[bytes] = []
    for number in range(COMMITS):
        who = WHO % (1_600_000_000 + number)
        message = b"commit %d" % number
        parts.append(b"commit refs/heads/main\nauthor %scommitter %sdata %d\n%s\n" % (who, who, len(message), message))
        names = range(FILES) if number == 0 else [number % FILES]
        for name in names:
            data = b"".join(b"line %d of %d\n" % (line, number) for line in range(20))
            parts.append(b"M 644 inline d%d/f%d.txt\ndata %d\n%s\n" % (name % 50, name, len(data), data))
    return b"".join(parts)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = new(tmp_path_factory.mktemp("history") / "large")
    git(repo, "fast-import", "--quiet", stdin=stream())
    git(repo, "reset", "--quiet", "--hard")
    return repo


@pytest.fixture
def large(history: Path, workspace: Path) -> Path:
    repo = shutil.copytree(history, workspace / "large")
    git(repo, "status")
    for number in range(0, FILES, 100):
        (repo / f"d{number % 50}/f{number}.txt").write_text("changed\n" * 20)
    (repo / "new").write_text("")
    return repo


def plainly(repo: Path, *args: str) -> float:
    began = time.perf_counter()
    subprocess.run(["git", "-C", str(repo), *args], env=environment(), capture_output=True, timeout=60, check=True)
    return time.perf_counter() - began


async def ours(tools: Tools, name: str, **arguments: Any) -> float:
    began = time.perf_counter()
    await tools(name, repo_path="large", **arguments)
    return time.perf_counter() - began


@requirement("GIT-11", "GIT-08", "GIT-06", "GIT-09")
@pytest.mark.slow
async def test_a_large_history_is_no_slower_than_git(tools: Tools, large: Path) -> None:
    pairs: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
        "log": ({}, ("log", "-n20")),
        "status": ({}, ("status", "--porcelain=v2", "--branch", "--untracked-files=all")),
        "diff": ({}, ("diff", "HEAD")),
        "blame": ({"file_path": "d1/f1.txt"}, ("blame", "d1/f1.txt")),
    }
    taken: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in pairs}
    for _ in range(ROUNDS):
        for name, (arguments, args) in pairs.items():
            taken[name][0].append(await ours(tools, name, **arguments))
            taken[name][1].append(plainly(large, *args))
    for name, (own, plain) in taken.items():
        print(
            f"{name}: {median(own) * 1e3:.1f} ms, git {median(plain) * 1e3:.1f} ms, x {median(own) / median(plain):.2f}"
        )
    assert median(taken["log"][0]) < LOG_SECONDS
    for name in ("status", "diff"):
        own, plain = taken[name]
        assert median(own) < GENEROUS * median(plain) + 0.05, name


@requirement("GIT-08")
@pytest.mark.slow
async def test_a_large_history_can_be_read_to_its_end(tools: Tools, large: Path) -> None:
    seen = 0
    cursor: str | None = ""
    while cursor is not None and seen < 3000:
        done = await tools("log", repo_path="large", max_count=1000, cursor=cursor)
        assert done["result"][0]["message"] == f"commit {COMMITS - 1 - seen}"
        seen += len(done["result"])
        cursor = done["next_cursor"]
    [first] = (await tools("log", repo_path="large", revision=f"HEAD~{COMMITS - 1}"))["result"]
    assert first["message"] == "commit 0"

"""`weft audit tail`: the calls a person looks for, and those that come while they look."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import tracemalloc
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from clawft.cli.main import main
from clawft.store.journal import Journal
from tests.requirements import requirement

HOUR = 3600.0


def noted(id: str, tool: str, ago: float = 0.0, **more: str) -> dict[str, Any]:
    """A line of the audit, of so many seconds ago."""
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - ago)) + ".000Z"
    who = {"caller": "local", "agent": "default", "client": ""}
    return {"time": when, "id": id, **who, "tool": tool, "verdict": "allow", "outcome": "ok", "ms": 1.5, **more}


@pytest.fixture
def journal(home: Path) -> Journal:
    return Journal(home / "audit" / "audit.jsonl")


@pytest.fixture
def written(journal: Journal) -> Journal:
    journal.append(
        [
            noted("old", "notes__list", 50 * HOUR, server="notes"),
            noted("hour", "notes__add", 1.5 * HOUR, server="notes", outcome="error"),
            noted("denied", "shell__exec", 600, verdict="deny:command", outcome="error", client="claude-code"),
            noted("stopped", "wiki__find", 500, server="wiki", outcome="cancelled", agent="reviewer"),
            noted("hidden", "git__push", 400, verdict="hidden", outcome="failed:ToolNotFound", caller="ci"),
            noted("now", "wiki__find", 5, server="wiki"),
        ]
    )
    return journal


@requirement("GUARD-11")
def test_who_called_stands_in_every_row(run: Any, written: Journal) -> None:
    head, row = run("audit", "tail", "--tool", "git__push").out.splitlines()
    assert row[head.index("CALLER") :].split() == ["ci", "git__push"]


@requirement("GUARD-11", "AGENT-14")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--server", "wiki"], "stopped now"),
        (["--tool", "*__find"], "stopped now"),
        (["--tool", "shell__*"], "denied"),
        (["--caller", "ci"], "hidden"),
        (["--caller", "reviewer"], "stopped"),
        (["--caller", "claude*"], "denied"),
        (["--errors"], "hour denied hidden"),
        (["--errors", "-n", "1"], "hidden"),
        (["--since", "10s"], "now"),
        (["--since", "2h"], "hour denied stopped hidden now"),
        (["--since", "3d", "--server", "notes"], "old hour"),
        (["--since", "1990-01-01"], "old hour denied stopped hidden now"),
        (["--since", "2990-01-01T12:30:00Z"], ""),
        (["-n", "2"], "hidden now"),
    ],
)
def test_the_calls_that_are_looked_for(run: Any, written: Journal, words: list[str], found: str) -> None:
    done = run("audit", "tail", "--json", *words)
    assert done.code == 0
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == found.split()


@requirement("GUARD-11")
def test_a_moment_is_a_date_in_utc_like_those_that_are_shown(run: Any, written: Journal) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() - HOUR))
    ids = [json.loads(line)["id"] for line in run("audit", "tail", "--json", "--since", moment).out.splitlines()]
    assert ids == ["denied", "stopped", "hidden", "now"]


@requirement("AGENT-14")
@pytest.mark.parametrize("when", ["yesterday", "10", "-5m", "m", "99999999999d", "2026-13-40", ""])
def test_a_moment_nobody_understands_is_told_with_one_that_works(run: Any, when: str) -> None:
    done = run("audit", "tail", f"--since={when}")
    assert (done.code, done.out) == (2, "")
    assert "10m" in done.err


@requirement("AGENT-14")
def test_whoever_finds_nothing_is_told_what_was_looked_for(run: Any, written: Journal) -> None:
    done = run("audit", "tail", "--server", "nope", "--errors")
    assert (done.code, done.out) == (0, "")
    assert done.err == "no recorded call is of the server nope and went wrong; weft audit tail shows the latest calls\n"


@requirement("GUARD-11")
def test_of_what_is_found_no_more_is_kept_than_is_shown(
    written: Journal, journal: Journal, capfd: pytest.CaptureFixture[str]
) -> None:
    """A long audit has hundreds of megabytes."""
    for number in range(20):
        journal.append([noted(f"{number}-{each}", "notes__list", client="x" * 4_000) for each in range(50)])
    assert main(["audit", "tail", "-n", "1"]) == 0  # with all that is loaded once
    tracemalloc.start()
    try:
        assert main(["audit", "tail", "--since", "1h"]) == 0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(capfd.readouterr().out.splitlines()) > 1_000
    assert peak < 1_000 * 4_000 / 2


# ── following ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Following:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def next(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it ended"
        return line


@pytest.fixture
def following(weft: list[str], workspace: Path, environment: dict[str, str]) -> Generator[Callable[..., Following]]:
    running: list[subprocess.Popen[str]] = []

    def following(*words: str) -> Following:
        argv = [*weft, "audit", "tail", "--follow", *words]
        process = subprocess.Popen(
            argv, cwd=workspace, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        running.append(process)
        return Following(process)

    yield following
    for process in running:
        process.kill()
        process.communicate(timeout=60)


@pytest.mark.slow
@requirement("GUARD-11")
@pytest.mark.timeout(60)
def test_calls_are_shown_as_they_come_through_full_files_too(following: Any, written: Journal, home: Path) -> None:
    shown = following("--json", "--tool", "wiki__*", "-n", "1")
    assert json.loads(shown.next())["id"] == "now"
    small = Journal(home / "audit" / "audit.jsonl", rotate_bytes=1, keep_files=5)
    for number in range(3):
        small.append([noted(f"more-{number}", "wiki__find"), noted("other", "notes__list")])
    assert [json.loads(shown.next())["id"] for _ in range(3)] == ["more-0", "more-1", "more-2"]
    shown.process.send_signal(signal.SIGINT)
    assert shown.process.wait(30) == 130


@pytest.mark.slow
@requirement("GUARD-11")
@pytest.mark.timeout(60)
def test_whoever_follows_before_the_first_call_sees_it(following: Any, run: Any) -> None:
    shown = following()
    assert shown.process.stderr.readline() == "no call recorded yet\n"
    assert run("tools", "call", "memory__list").code == 0
    assert shown.next().split()[-1] == "TOOL"
    assert shown.next().split()[-1] == "memory__list"


@pytest.mark.slow
@requirement("GUARD-11")
@pytest.mark.timeout(60)
def test_what_comes_stands_below_what_is_there(following: Any, written: Journal) -> None:
    shown = following("-n", "2")
    head, *_ = [shown.next() for _ in range(3)]
    written.append([noted("new", "a__b")])
    assert shown.next().index("a__b") == head.index("TOOL")

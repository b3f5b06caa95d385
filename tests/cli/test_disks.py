"""A home on a disk that is full, or read-only: what went wrong is said in one line, and what was there still holds."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time

TINY = Path(__file__).parents[1] / "servers" / "tiny.py"
DISK_BYTES = 1024 * 1024
CALLS = 40
CLIENT = {"name": "test", "version": "1"}


@pytest.fixture
def approved(run: Any) -> None:
    assert run("servers", "add", "one", "--", sys.executable, str(TINY)).code == 0
    assert run("approvals", "grant", "one", "echo").code == 0


@pytest.fixture
def on_disk(weft: list[str], home: Path, workspace: Path, environment: dict[str, str]) -> Any:
    """Run a command with the home on another kind of disk."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        pytest.skip("no bubblewrap to make a disk with")

    def run(kind: str, *words: str) -> subprocess.CompletedProcess[str]:
        disk = {
            "read-only": ["--ro-bind", str(home), str(home), "--", *weft, *words],
            "full": ["--bind", str(home), "/mnt", "--size", str(DISK_BYTES), "--tmpfs", str(home), "--", *full(home)],
        }[kind]
        command = [bwrap, "--dev-bind", "/", "/", *disk, *([] if kind == "read-only" else [*weft, *words])]
        return subprocess.run(
            command, cwd=workspace, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    return run


def full(home: Path) -> list[str]:
    """What was there, and then nothing fits any more."""
    script = f'cp -a /mnt/. {home} && (cat /dev/zero > {home}/fill 2>/dev/null || true) && exec "$@"'
    return ["sh", "-c", script, "sh"]


WRITES = {
    "approvals grant one pid": "approvals.json",
    "approvals revoke one": "approvals.json",
    f"servers add two -- {sys.executable}": "two.toml",
}


@requirement("POOL-20", "AGENT-14")
@pytest.mark.parametrize("kind", ["full", "read-only"])
@pytest.mark.parametrize("words", WRITES)
def test_what_cannot_be_written_is_named(approved: None, on_disk: Any, home: Path, words: str, kind: str) -> None:
    done = on_disk(kind, *words.split())
    first, hint = done.stderr.splitlines()
    reason = "No space left on device" if kind == "full" else "Read-only file system"
    place = home / "approvals.lock" if kind == "read-only" and "approvals" in words else WRITES[words]
    assert (done.returncode, hint) == (1, "hint: weft doctor")
    assert first.startswith(f"weft: {home}")
    assert first.endswith(f"{place}: {reason}")


@requirement("POOL-20", "GUARD-01")
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_what_is_approved_still_runs_and_the_lost_line_is_told(approved: None, on_disk: Any, kind: str) -> None:
    done = on_disk(kind, "tools", "call", "one__echo", "text=1")
    assert (done.returncode, done.stdout) == (0, "tiny: 1\n")
    (said,) = done.stderr.splitlines()
    assert said.startswith("weft: audit: 1 lines could not be written: ")


@requirement("PLUG-06", "AGENT-14")
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_what_cannot_be_remembered_is_told_to_whoever_asked(approved: None, on_disk: Any, run: Any, kind: str) -> None:
    assert run("tools", "call", "memory__set", "key=a", "value=1").code == 0
    done = on_disk(kind, "tools", "call", "memory__set", "key=a", "value=2")
    reason = "No space left on device" if kind == "full" else "Read-only file system"
    assert done.returncode == 1
    assert f"cannot be written: {reason} (weft doctor)" in done.stderr
    assert "Traceback" not in done.stderr


@requirement("AGENT-14")
def test_the_doctor_finds_a_disk_that_takes_no_more_files(
    weft: list[str], home: Path, workspace: Path, environment: dict[str, str]
) -> None:
    disk = f'mount -t tmpfs -o nr_inodes=2 none {home} && touch {home}/last && exec "$@"'
    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", disk, "sh"]
    done = subprocess.run(
        [*apart, *weft, "doctor", "--json"],
        cwd=workspace, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if not done.stdout:
        pytest.skip(f"no namespace to make a disk in: {done.stderr}")
    found = {each["said"]: each["hint"] for each in json.loads(done.stdout)["findings"] if each["level"] == "fail"}
    assert found[f"the disk of {home} has room for no more files"] == f"make room: df -i {home}"


@requirement("AGENT-14")
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_the_doctor_finds_it(approved: None, on_disk: Any, kind: str) -> None:
    told = json.loads(on_disk(kind, "doctor", "--json").stdout)
    said = "is full" if kind == "full" else "is not writable"
    assert [each["said"] for each in told["findings"] if each["level"] == "fail" and said in each["said"]]


@requirement("GUARD-11")
def test_lines_of_calls_on_a_full_disk_are_written_when_there_is_room(
    weft: list[str], run: Any, workspace: Path, environment: dict[str, str]
) -> None:
    """The disk is full for a while: no file of this process may grow beyond a size. Nobody acts unseen meanwhile."""
    command = [*weft, "mcp-server"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=workspace, env=environment, text=True, **pipes) as process:
        serving: Any = process  # whose three pipes are there
        ask = partial(_ask, serving)
        ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT})
        resource.prlimit(serving.pid, resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))
        for number in range(1, CALLS + 1):
            ask(number, "tools/call", {"name": "memory__recall", "arguments": {"key": "a"}})
        assert "audit: lines cannot be written and are kept in memory" in serving.stderr.readline()
        resource.prlimit(serving.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        serving.stdin.close()
    assert run("audit", "verify").code == 0
    ids = [line["id"].rpartition("-")[2] for line in run("audit", "tail", "-n", "1000", "--json").json_lines]
    assert ids == [str(number) for number in range(1, CALLS + 1)]


def _ask(serving: Any, id: int, method: str, params: object) -> None:
    serving.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
    serving.stdin.flush()
    while json.loads(serving.stdout.readline()).get("id") != id:
        pass

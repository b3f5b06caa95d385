"""Builders as processes: their lines, their deadline, their end."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin import process
from clawft.builtin.build import child
from clawft.builtin.build.child import BuilderExit, LineCutter, run_lines
from clawft.builtin.process import ProcessStart
from clawft.link.process import STOP_SECONDS
from tests.builtin.build.trusting import gone, until
from tests.growth import grows_linearly
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
HANGING = f"""
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", {DEAF!r}])
with open("pids.new", "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}}")
os.rename("pids.new", "pids")
print("so far", flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path, os.O_RDONLY)
    yield opened
    os.close(opened)


def nothing(line: str) -> None:
    pass


def python(code: str, folder: int, timeout_s: float = 30) -> ProcessStart:
    return ProcessStart([sys.executable, "-c", code], folder, dict(os.environ), timeout_s)


@requirement("CARGO-03")
async def test_lines_of_both_streams_and_the_exit_code(folder: int) -> None:
    out: list[str] = []
    err: list[str] = []
    code = "import sys; print('a\\nb'); print('c', file=sys.stderr); sys.stdout.write('no end'); sys.exit(3)"
    ended = await run_lines(python(code, folder), out.append, err.append)
    assert (ended, out, err) == (BuilderExit(3), ["a", "b", "no end"], ["c"])


@requirement("CARGO-03")
async def test_one_that_a_signal_ended_has_no_exit_code(folder: int) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert (await run_lines(python(code, folder), nothing, nothing)).exit_code is None


@requirement("CARGO-07")
async def test_the_deadline_ends_the_whole_group(folder: int, tmp_path: Path) -> None:
    out: list[str] = []
    began = time.monotonic()
    running = asyncio.create_task(run_lines(python(HANGING, folder, timeout_s=1.5), out.append, nothing))
    ended = await asyncio.wait_for(running, 30)
    assert ended.timed_out
    assert out == ["so far"]
    assert time.monotonic() - began < 1.5 + STOP_SECONDS + 2 * process.DRAIN_S + 2
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    await until(lambda: all(map(gone, pids)))


@requirement("CARGO-07")
def test_the_deadline_on_the_loop_that_weft_runs_on(folder: int, tmp_path: Path) -> None:
    ended = uvloop.run(asyncio.wait_for(run_lines(python(HANGING, folder, timeout_s=1.5), nothing, nothing), 30))
    assert ended.timed_out
    assert all(map(gone, map(int, (tmp_path / "pids").read_text().split())))


@requirement("CARGO-07")
async def test_a_cancelled_run_leaves_nobody_behind(folder: int, tmp_path: Path) -> None:
    running = asyncio.create_task(run_lines(python(HANGING, folder), nothing, nothing))
    await until((tmp_path / "pids").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    await until(lambda: all(map(gone, pids)))


@requirement("CARGO-07")
async def test_a_child_that_outlives_its_builder_is_ended_too(folder: int, tmp_path: Path) -> None:
    code = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {DEAF!r}]); print(p.pid)"
    out: list[str] = []
    ended = await asyncio.wait_for(run_lines(python(code, folder), out.append, nothing), 30)
    assert ended == BuilderExit(0)
    await until(lambda: gone(int(out[0])))


@requirement("CARGO-10")
async def test_a_secret_is_blotted_out(folder: int) -> None:
    out: list[str] = []
    code = "import sys; print('token=s3cr3t!'); print('s3cr3t', file=sys.stderr)"
    await run_lines(python(code, folder), out.append, out.append, "s3cr3t")
    assert sorted(out) == ["[secret]", "token=[secret]!"]


@given(st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\r\n"])), st.integers(1, 4))
def test_any_split_of_a_stream_gives_the_same_lines(parts: list[bytes], size: int) -> None:
    stream = b"".join(parts)
    whole: list[str] = []
    lines = LineCutter(whole.append)
    lines.add(stream)
    lines.end()
    pieces: list[str] = []
    lines = LineCutter(pieces.append)
    for at in range(0, len(stream), size):
        lines.add(stream[at : at + size])
    lines.end()
    assert pieces == whole


def test_a_line_too_long_is_cut_and_the_next_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "MAX_LINE_BYTES", 10)
    heard: list[str] = []
    lines = LineCutter(heard.append)
    for piece in (b"x" * 8, b"y" * 8, b"z" * 8, b"\nnext\n"):
        lines.add(piece)
    assert heard == ["xxxxxxxxyy", "next"]


@requirement("QUAL-12")
def test_a_line_without_end_is_looked_at_once() -> None:
    def hear(pieces: int) -> None:
        lines = LineCutter(lambda _: None)
        for _ in range(pieces):
            lines.add(b"x" * 4096)
        lines.end()

    assert grows_linearly(hear, 60)

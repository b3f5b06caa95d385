"""The real `weft`, started as a process: where it runs, what it may see, and how it is stopped again."""

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

START_S = 30.0
STOP_S = 12.0
"""`weft` promises to be gone within 10 s."""
COMMAND_S = 90.0
RSS_LIMIT = 150 * 1024 * 1024
"""What it may take under any bad input."""

ROOT = Path(__file__).parents[2]
PROBE = Path(__file__).parent / "package"
CONFORMANCE = ROOT / "tests" / "conformance" / "package"
WEFT = (sys.executable, "-m", "clawft")
MCP_SERVER = (*WEFT, "mcp-server")
GATEWAY = (*WEFT, "gateway", "--port", "0")
_URL = re.compile(r"http://127\.0\.0\.1:(\d+)/mcp")


def environment(folder: Path, package: Path = PROBE) -> dict[str, str]:
    """Ours, with `package` installed beside us and a home of its own."""
    path = os.pathsep.join([str(package), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "CLAWFT_HOME": str(folder / "home")}


def weft(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """One command, run in `folder` to its end, with `more` in its environment."""
    return subprocess.run(
        [*WEFT, *words],
        cwd=folder,
        env={**environment(folder), "NO_COLOR": "1", **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )


def peak_memory(pid: int) -> int:
    """The most bytes the process ever held, where the system keeps count; else what it holds now."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return psutil.Process(pid).memory_info().rss
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else psutil.Process(pid).memory_info().rss


def children_named(pid: int, name: str) -> list[psutil.Process]:
    """Processes below `pid` that run this program now."""
    return [child for child in psutil.Process(pid).children(recursive=True) if _name_of(child) == name]


def _name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:  # it ended while we looked
        return ""


def is_gone(process: psutil.Process) -> bool:
    """Ended; a zombie only waits for whoever adopted it."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def outliving(processes: Iterable[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that have not ended after so long; `psutil.wait_procs` would wait until zombies are adopted, too."""
    deadline = time.monotonic() + seconds
    left = list(processes)
    while (left := [each for each in left if not is_gone(each)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


class NotServed(Exception):
    """The gateway did not say where it listens; its last lines are the message."""


@dataclass
class Served:
    """A running `weft gateway`."""

    process: subprocess.Popen[str]
    port: int
    lines: list[str] = field(default_factory=list[str])
    """Everything it said, on stdout and stderr."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> int:
        """As a service manager would; the exit status."""
        self.process.terminate()
        return self.process.wait(STOP_S)


@contextmanager
def gateway(folder: Path, *options: str, package: Path = PROBE) -> Generator[Served]:
    """Start `weft gateway` in `folder` on a free port, and end it afterwards if it still runs."""
    process = subprocess.Popen(
        [*GATEWAY, *options],
        cwd=folder,
        env=environment(folder, package),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines: list[str] = []
    found: queue.Queue[int | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process, lines, found), daemon=True)
    reader.start()
    try:
        yield Served(process, _port(found, lines), lines)
    finally:
        _end(process)
        reader.join(STOP_S)
        if process.stdout is not None:
            process.stdout.close()


def _read(process: subprocess.Popen[str], lines: list[str], found: "queue.Queue[int | None]") -> None:
    """Keep reading to the end, so that the gateway never waits for us."""
    for line in process.stdout or ():
        lines.append(line.rstrip())
        match = _URL.search(line)
        if match:
            found.put(int(match[1]))
    found.put(None)


def _port(found: "queue.Queue[int | None]", lines: list[str]) -> int:
    try:
        port = found.get(timeout=START_S)
    except queue.Empty:
        port = None
    if port is None:
        raise NotServed("\n".join(["the gateway does not listen; it said:", *lines]))
    return port


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

"""The processes below a contender, told apart: its own helpers count as the contender, its upstream servers do not."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

UPSTREAM = str(Path(__file__).parent / "servers" / "floor.py")
"""An upstream is known by its program, the second word of its command line."""
_PROCESS_CLOCK = 2
"""The kernel's name for "CPU time of a whole process" in the low bits of a clock id."""


class Family(Struct, frozen=True):
    own: tuple[int, ...]
    upstreams: tuple[int, ...]


def family(root: int) -> Family:
    """As it is now. The root is its own, whatever its command line holds."""
    below = list(_below(root))
    upstreams = tuple(pid for pid in below if is_upstream(pid))
    return Family((root, *(pid for pid in below if pid not in upstreams)), upstreams)


def is_upstream(pid: int) -> bool:
    return command_line(pid)[1:2] == [UPSTREAM]


def command_line(pid: int) -> list[str]:
    return _read(f"/proc/{pid}/cmdline").split("\0")


def cpu_ns(pid: int) -> int:
    """CPU of all threads so far, also of those that have ended, which the files under /proc/PID/task forget."""
    try:
        return time.clock_gettime_ns((~pid << 3) | _PROCESS_CLOCK)
    except OSError:
        return 0  # gone since we looked


def rss_mib(pid: int) -> float:
    words = _read(f"/proc/{pid}/statm").split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if words else 0.0


def bytes_read(pid: int) -> int:
    """What it took in so far, from files and pipes alike."""
    lines = _read(f"/proc/{pid}/io").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("rchar:")), 0)


def _below(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _below(child)


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(word) for thread in threads for word in _read(f"/proc/{pid}/task/{thread}/children").split()]


def _read(file: str) -> str:
    """Empty if the process is gone."""
    try:
        return Path(file).read_text(errors="replace")
    except OSError:
        return ""

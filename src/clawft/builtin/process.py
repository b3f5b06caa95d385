"""One command run to its end: cleared environment, own process group, bounded output, a deadline that kills the group.

Whatever way it ends (exit, deadline, cancelled), no process of its group is left behind.
"""

import asyncio
import os
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct

MAX_OUTPUT_BYTES = 256 * 1024
"""Of each stream the last bytes are kept, up to this many."""
TERM_GRACE_S = 2.0
"""Between SIGTERM and SIGKILL."""
DRAIN_S = 1.0
"""How long a pipe may stay open once the group is dead: a process that left the group can hold it."""
PROBE_S = 5.0
KEPT_VARIABLES = ("PATH", "HOME", "LANG")
DEFAULT_VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

_STDOUT, _STDERR = 1, 2


class Finished(Struct, frozen=True):
    exit_code: int
    """Negative: ended by that signal."""
    stdout: str
    stderr: str
    timed_out: bool = False
    truncated: bool = False


def clear_environment(environ: Mapping[str, str] = os.environ, keep: Sequence[str] = KEPT_VARIABLES) -> dict[str, str]:
    """Only what a program needs to run at all; secrets of ours stay ours."""
    return {**DEFAULT_VARIABLES, **{name: environ[name] for name in keep if name in environ}}


async def run(argv: Sequence[str], *, folder: int, env: Mapping[str, str], timeout_s: float) -> Finished:
    """Run `argv` in an open folder. OSError if it cannot be started."""
    loop = asyncio.get_running_loop()
    prefix = await asyncio.to_thread(dies_with_us)
    transport, capture = await loop.subprocess_exec(
        _Capture,
        *prefix,
        *argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=path_of(folder),
        env=dict(env),
        start_new_session=True,
    )
    group = transport.get_pid()
    try:
        timed_out = await _wait(capture, group, timeout_s)
        _signal(group, signal.SIGKILL)
        await asyncio.wait([capture.drained], timeout=DRAIN_S)
        return capture.finished(transport.get_returncode(), timed_out)
    finally:
        _signal(group, signal.SIGKILL)
        transport.close()


@cache
def dies_with_us() -> tuple[str, ...]:
    """A prefix that makes Linux kill the command when we die, even by SIGKILL. Empty where there is no such tool.

    Setting it between fork and exec in Python is not safe once there are threads, so a small program does it.
    """
    prefix = ("setpriv", "--pdeathsig", "KILL", "--")
    try:
        tried = subprocess.run([*prefix, "true"], capture_output=True, timeout=PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return prefix if tried.returncode == 0 else ()


def path_of(folder: int) -> str:
    """A path for an open folder. `/proc`, where there is one, names the descriptor, whatever happened to its path."""
    own = f"/proc/self/fd/{folder}"
    return own if os.path.isdir(own) else _recorded_path(folder)


def _recorded_path(folder: int) -> str:
    import fcntl  # only where there is no /proc

    get_path = getattr(fcntl, "F_GETPATH", None)
    if get_path is None:
        raise OSError("this system cannot name an open folder")
    return os.fsdecode(fcntl.fcntl(folder, get_path, bytes(1024)).rstrip(b"\0"))


async def _wait(capture: "_Capture", group: int, timeout_s: float) -> bool:
    """Wait for the exit; True if the deadline came first."""
    await asyncio.wait([capture.exited], timeout=timeout_s)
    if capture.exited.done():
        return False
    _signal(group, signal.SIGTERM)
    await asyncio.wait([capture.exited], timeout=TERM_GRACE_S)
    _signal(group, signal.SIGKILL)
    await asyncio.wait([capture.exited], timeout=DRAIN_S)  # one that hangs in the kernel is not waited for
    return True


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass  # nobody left; or (macOS) only zombies


class _Capture(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self._tails = {_STDOUT: Tail(MAX_OUTPUT_BYTES), _STDERR: Tail(MAX_OUTPUT_BYTES)}
        self._open = set(self._tails)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._tails[fd].add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.drained.done():
            self.drained.set_result(None)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def finished(self, exit_code: int | None, timed_out: bool) -> Finished:
        out, err = self._tails[_STDOUT], self._tails[_STDERR]
        code = -signal.SIGKILL if exit_code is None else exit_code
        return Finished(code, out.text(), err.text(), timed_out, truncated=bool(out.lost or err.lost))


class Tail:
    """The last bytes of a stream, and how many went before them."""

    def __init__(self, limit: int) -> None:
        self.lost = 0
        self._limit = limit
        self._size = 0
        self._chunks: deque[bytes] = deque()

    def add(self, data: bytes) -> None:
        self._chunks.append(data)
        self._size += len(data)
        while self._size - len(self._chunks[0]) >= self._limit:
            gone = len(self._chunks.popleft())
            self._size -= gone
            self.lost += gone

    def text(self) -> str:
        kept = b"".join(self._chunks)
        excess = max(0, len(kept) - self._limit)
        self.lost, self._size = self.lost + excess, len(kept) - excess
        self._chunks = deque([kept[excess:]])
        text = self._chunks[0].decode("utf-8", "replace")
        return f"[the first {self.lost} bytes are left out]\n{text}" if self.lost else text

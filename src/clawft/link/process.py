"""Children: started without a shell, with an empty environment, in a group of their own, and gone when we are.

`Child` owns one process: its pipes, the last lines it wrote to stderr, the news of its end, the ladder that ends it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from clawft.errors import SpawnFailed

STOP_SECONDS = 2.0
"""How long each rung of the stop ladder waits: end of input, then SIGTERM, then SIGKILL."""
STDERR_BYTES = 64 * 1024
SHORT_TAIL = 2_000
INHERITED = ("PATH", "HOME")

Said = Callable[[bytes], None]
"""Hears what a child writes to stderr."""


class Launch(Struct, frozen=True):
    """Everything that starts a child. `env` is all it sees beside PATH and HOME."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str = "."

    def __repr__(self) -> str:
        return f"Launch({self.command!r}, …)"  # arguments and variables may hold secrets


class Tail:
    """The last of what a child said on stderr, bounded."""

    def __init__(self, limit: int = STDERR_BYTES) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0

    def add(self, data: bytes) -> None:
        data = data[-self._limit :]
        self._chunks.append(data)
        self._size += len(data)
        while self._size > self._limit and len(self._chunks) > 1:
            self._size -= len(self._chunks.popleft())

    def text(self, limit: int = STDERR_BYTES) -> str:
        return b"".join(self._chunks)[-limit:].decode("utf-8", "replace")


class Child:
    """One running process. `ended` is done, with its exit status, when it is gone and reaped."""

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch, said: Said | None = None) -> None:
        self._process = process
        self._said = said
        self._loop = asyncio.get_running_loop()
        self.launch = launch
        self.pid = process.pid
        self.stderr = Tail()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self._watch_end()

    @property
    def pipes(self) -> subprocess.Popen[bytes]:
        return self._process

    def hear(self, data: bytes) -> None:
        self.stderr.add(data)
        if self._said is not None:
            self._said(data)

    def why_ended(self) -> str:
        """Exit status and last words, for an error."""
        status = self._process.returncode
        how = "closed its output or stopped reading" if status is None else _describe(status)
        words = self.stderr.text(SHORT_TAIL).strip()
        return f"{how}; its last words: {words}" if words else how

    async def stop(self, close_input: Callable[[], None]) -> None:
        """End of input, then SIGTERM, then SIGKILL to the whole group; nothing is left afterwards."""
        close_input()
        if await self._gone_within(STOP_SECONDS):
            return
        self._signal_group(signal.SIGTERM)
        if await self._gone_within(STOP_SECONDS):
            return
        self.kill()
        await self._gone_within(STOP_SECONDS)

    def kill(self) -> None:
        self._signal_group(signal.SIGKILL)

    async def _gone_within(self, seconds: float) -> bool:
        await asyncio.wait({self.ended}, timeout=seconds)
        return self.ended.done()

    def _signal_group(self, number: int) -> None:
        """Only while the child is not reaped: afterwards its number may be someone else's."""
        if self._process.returncode is not None:
            return
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # nobody left in the group

    def _watch_end(self) -> None:
        """Through a pidfd where the system has one, so that no thread waits for each child."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            self._loop.run_in_executor(None, self._wait_in_thread)
            return
        self._loop.add_reader(descriptor, self._reap, descriptor)

    def _reap(self, descriptor: int) -> None:
        """It has ended but its number is still its own: the time to end those it leaves behind."""
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
        self.kill()
        self._note_end(self._process.wait())

    def _wait_in_thread(self) -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            self.kill()
        status = self._process.wait()
        self._loop.call_soon_threadsafe(self._note_end, status)

    def _note_end(self, status: int) -> None:
        if not self.ended.done():
            self.ended.set_result(status)


def _describe(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    known = -status in signal.valid_signals()
    return f"was ended by {signal.Signals(-status).name if known else f'signal {-status}'}"


def start(launch: Launch, said: Said | None = None) -> Child:
    """Start it. Raises SpawnFailed, naming the path tried, before anything runs."""
    command = find_command(launch.command, launch.cwd)
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment.update(launch.env)
    try:
        process = subprocess.Popen(
            [*die_with_parent(), command, *launch.args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=launch.cwd,
            env=environment,
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as failed:  # ValueError: a NUL in an argument or a variable
        raise SpawnFailed(f"{command} could not be started: {failed}", hint="check the path and its mode") from None
    return Child(process, launch, said)


def find_command(command: str, cwd: str) -> str:
    """The file that would run. Raises SpawnFailed if there is none, or it may not be executed."""
    if not os.path.isdir(cwd):
        raise SpawnFailed(f"the working folder {cwd} does not exist")
    if os.sep not in command:
        found = shutil.which(command)
        if found is None:
            raise SpawnFailed(f"{command} is not on the PATH", hint="give the whole path, or install it")
        return found
    path = os.path.join(cwd, command)
    if not os.path.isfile(path):
        raise SpawnFailed(f"{path} does not exist")
    if not os.access(path, os.X_OK):
        raise SpawnFailed(f"{path} may not be executed", hint=f"chmod +x {path}")
    return path


@lru_cache(maxsize=1)
def die_with_parent() -> Sequence[str]:
    """What to put before a command so that the kernel ends it with us, even after SIGKILL. Linux only.

    `setpriv` execs the command in its place; elsewhere a child ends by the end of its input.
    """
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return (setpriv, "--pdeathsig", "KILL", "--no-new-privs", "--") if setpriv else ()

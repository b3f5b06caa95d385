"""Child processes: started without a shell, with a cleared environment, in their own group, and ended with us.

`Child` owns one process: its pipes, the last lines it wrote to stderr, the news of its end, and the steps that end it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.error_words import quoted
from clawft.errors import SpawnFailed
from clawft.sandbox.cell import Cell, CellStart
from clawft.sandbox.group import ask_to_end, end, signal_group
from clawft.sandbox.probe import leash
from clawft.sandbox.walls import moved

if TYPE_CHECKING:  # only servers of a workspace have some
    from clawft.sandbox.pinned_file import PinnedFile

STOP_SECONDS = 2.0
"""How long each step of stopping waits: end of input, then SIGTERM, then SIGKILL."""
STDERR_BYTES = 64 * 1024
SHORT_TAIL = 1_000
INHERITED = ("PATH", "HOME")
UMASK = 0o077
"""Files a child makes are for its user only."""
LACKING = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM})
"""Errors for lack of a resource that may be free again in a moment."""

Said = Callable[[bytes], None]
"""Called with what a child writes to stderr."""
Confine = Callable[[Sequence[str], str], Cell]
"""Makes the cell for a command, with the path of its program, and a folder."""


class Launch(Struct, frozen=True):
    """Everything that starts a child. Besides PATH and HOME, `env` is its whole environment."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str = "."
    confine: Confine | None = None
    """Makes the cell it runs in; None: without a sandbox."""
    pinned: tuple[PinnedFile, ...] = ()
    """The files it was approved with."""

    def __repr__(self) -> str:
        return f"Launch({self.command!r}, …)"  # arguments and variables may hold secrets


class StderrTail:
    """The end of a child's stderr, bounded in size."""

    def __init__(self, limit: int = STDERR_BYTES) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._lost = False
        """Whether earlier output was dropped."""

    def add(self, data: bytes) -> None:
        self._lost = self._lost or len(data) > self._limit
        data = data[-self._limit :]
        self._chunks.append(data)
        self._size += len(data)
        while self._size > self._limit and len(self._chunks) > 1:
            self._size -= len(self._chunks.popleft())
            self._lost = True

    def text(self, limit: int = STDERR_BYTES) -> str:
        """The end of it, from the beginning of a word: masking would not recognise half a secret."""
        whole = b"".join(self._chunks)
        tail = whole[-limit:]
        if self._lost or len(tail) < len(whole):
            begins = re.search(rb"\s", tail)
            tail = tail[begins.end() :] if begins else b""
        return tail.decode("utf-8", "replace")


class Child:
    """One running process. `ended` is done with the exit status when it is gone and reaped."""

    def __init__(self, process: subprocess.Popen[bytes], how: CellStart, said: Said | None = None) -> None:
        self._process = process
        self._said = said
        self._walled = how.walled
        self._tended = how.tended
        self._temporary = how.temporary
        self._gate = how.gate
        self._loop = asyncio.get_running_loop()
        self.sandbox = ""
        """The sandbox of the child, in one line."""
        self.pinned: tuple[PinnedFile, ...] = ()
        """The files it was approved with, which may have changed when it was started."""
        self.pid = process.pid
        self.stderr = StderrTail()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        _living.add(self)
        self._watch_end()

    @property
    def pipes(self) -> subprocess.Popen[bytes]:
        return self._process

    def close_pipes(self) -> None:
        """Close the pipes that were not taken over; does nothing to others, which their owners close."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def hear(self, data: bytes) -> None:
        self.stderr.add(data)
        if self._said is not None:
            self._said(data)

    def keep_door(self, handed: socket.socket, hosts: Sequence[str]) -> None:
        """Serve the proxy of its cell as long as it lives; refusals are shown as part of its stderr."""
        from clawft.sandbox.egress_proxy import EgressProxy  # only for those whose sandbox lists hosts

        proxy = EgressProxy(handed, hosts, lambda refused: self.hear(f"sandbox: {refused}\n".encode()))
        self.ended.add_done_callback(lambda _: proxy.close())

    async def let_in(self) -> None:
        """Let the command start. Raises SpawnFailed, and kills it, if its cell is not as intended."""
        gate, self._gate = self._gate, None
        if gate is None:
            return
        try:
            wrong = await asyncio.to_thread(gate.wrong)
            if wrong:
                raise moved(wrong)
        except BaseException:
            self.kill_group()
            raise
        finally:
            gate.close()

    def why_ended(self) -> str:
        """The exit status and last words, for an error."""
        status = self._process.returncode
        how = "closed its output or stopped reading" if status is None else _describe(status)
        words = self.last_words()
        return f"{how}; its last lines: {words}" if words else how

    def last_words(self) -> str:
        return self.stderr.text(SHORT_TAIL).strip()

    async def stop(self, close_input: Callable[[], None]) -> None:
        """Close its input, wait, and then `end` it."""
        close_input()
        if not await self._gone_within(STOP_SECONDS):
            await self.end()

    async def end(self) -> None:
        """SIGTERM, then SIGKILL to the whole group; nothing is left afterwards."""
        self._signal_group(partial(ask_to_end, walled=self._walled))
        if await self._gone_within(STOP_SECONDS):
            return
        self.kill()
        if not await self._gone_within(STOP_SECONDS):
            self.kill_group()
            await self._gone_within(STOP_SECONDS)

    def kill(self) -> None:
        self._signal_group(partial(end, tended=self._tended))

    def kill_group(self) -> None:
        """Kill the group directly, even if a tender would do that and more."""
        self._signal_group(signal_group)

    async def _gone_within(self, seconds: float) -> bool:
        await asyncio.wait({self.ended}, timeout=seconds)
        return self.ended.done()

    def _signal_group(self, send: Callable[[int], None]) -> None:
        """Signal only while the child is not reaped: afterwards its number may be another process."""
        if self._process.returncode is None:
            send(self.pid)

    def _watch_end(self) -> None:
        """Wait for the end by a pidfd where the system has one, and else in a thread for each child."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # a thread of its own, as shared ones would be blocked
            Thread(target=self._wait_in_thread, name="clawft-child", daemon=True).start()
            return
        self._loop.add_reader(descriptor, self._reap, descriptor)

    def _reap(self, descriptor: int) -> None:
        """The child has ended but is not reaped, so its number is still valid: end the processes it leaves behind."""
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
        self.kill()
        self._note_end(self._process.wait())

    def _wait_in_thread(self) -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            self.kill()
        status = self._process.wait()
        with suppress(RuntimeError):  # the loop is closed, and nothing waits
            self._loop.call_soon_threadsafe(self._note_end, status)

    def _note_end(self, status: int) -> None:
        _living.discard(self)
        if self._temporary:
            self._loop.run_in_executor(None, partial(_remove, self._temporary))
        if not self.ended.done():
            self.ended.set_result(status)


_living: set[Child] = set()


def kill_all() -> None:
    """Kill every child at once, without the steps of stopping."""
    for child in tuple(_living):
        child.kill()


def _remove(folder: str) -> None:
    from clawft.sandbox.removal import remove  # only for Landlock

    remove(folder)


def _describe(status: int) -> str:
    if status >= 0:
        ended = f" ({_name_of(status - 128)}, or so it said)" if 128 < status < 192 else ""
        return f"exited with status {status}{ended}"
    return f"was ended by {_name_of(-status)}"


def _name_of(number: int) -> str:
    return signal.Signals(number).name if number in signal.valid_signals() else f"signal {number}"


def start(launch: Launch, said: Said | None = None) -> Child:
    """Start a child. Raises SpawnFailed, naming the path that was tried, if it cannot be started."""
    command = find_command(launch.command, launch.cwd)
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment.update(launch.env)
    argv = (command, *launch.args)
    if launch.confine is None:
        return _spawn(CellStart((*leash(), *argv), environment), launch, said)
    argv, cwd = (os.path.abspath(command), *launch.args), os.path.realpath(launch.cwd)
    cell = launch.confine(argv, cwd)
    child = _spawn(cell.start(argv, cwd, environment, own_pipes=True, pinned=launch.pinned), launch, said)
    child.sandbox = cell.line
    return child


def _spawn(how: CellStart, launch: Launch, said: Said | None) -> Child:
    try:
        process = _run(how, launch.cwd)
    except (OSError, ValueError) as failed:  # ValueError: a NUL in an argument or a variable
        if how.handed is not None:
            how.handed.close()
        if how.gate is not None:
            how.gate.drop()
        for descriptor in how.ends or ():
            os.close(descriptor)
        raise _not_started(launch.command, failed) from None
    finally:
        for descriptor in how.descriptors:
            os.close(descriptor)
    child = Child(process, how, said)
    child.pinned = tuple(file.without_content() for file in launch.pinned)
    if how.handed is not None:
        child.keep_door(how.handed, how.hosts)
    return child


def _not_started(command: str, failed: OSError | ValueError) -> SpawnFailed:
    problem = f"{command} could not be started: {failed}"
    if isinstance(failed, OSError) and failed.errno in LACKING:
        return SpawnFailed(
            problem, hint="weft may open more files or start more processes: ulimit -n, ulimit -u", passing=True
        )
    return SpawnFailed(problem, hint="check the path and its mode")


def _run(how: CellStart, cwd: str) -> subprocess.Popen[bytes]:
    """Start the process with pipes to its input, output and stderr."""
    pipe = subprocess.PIPE if how.ends is None else subprocess.DEVNULL
    process = subprocess.Popen(
        how.argv,
        stdin=pipe,
        stdout=pipe,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=how.env,
        start_new_session=True,
        bufsize=0,
        umask=UMASK,
        pass_fds=how.descriptors,
    )
    if how.ends is not None:
        process.stdin, process.stdout = open(how.ends[0], "wb", 0), open(how.ends[1], "rb", 0)  # noqa: SIM115 - its own
    return process


def find_command(command: str, cwd: str) -> str:
    """The path of the program. Raises SpawnFailed if it is missing or not executable."""
    if not os.path.isdir(cwd):
        raise SpawnFailed(f"the working folder {cwd} does not exist")
    if os.sep not in command:
        import shutil  # imports archive modules

        found = shutil.which(command)
        if found is None:
            raise SpawnFailed(f"{command} is not on the PATH", hint="give its absolute path, or install it")
        return found
    path = os.path.join(cwd, command)
    if os.path.isdir(path):
        raise SpawnFailed(f"{path} is a folder, not a program")
    if not os.path.isfile(path):
        raise SpawnFailed(f"{path} does not exist")
    if not os.access(path, os.X_OK):
        raise SpawnFailed(f"{path} is not executable", hint=f"chmod +x {quoted(path)}")
    return path

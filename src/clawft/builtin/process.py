"""One command run to its end, heard as it goes: own group, cleared environment, a deadline, a cell if it has one.

Whatever way it ends (exit, deadline, enough heard, cancelled), no process of its group is left behind. It is asked to
stop before it is made to: git removes its locks then, builders their half-written files.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO, cast

from msgspec import Struct
from msgspec.structs import replace

from clawft.errors import ExecutionFailed, SpawnFailed
from clawft.sandbox.cell import Cell, CellStart
from clawft.sandbox.group import ask_to_end, end, signal_group
from clawft.sandbox.probe import leash, memory_limit

TERM_GRACE_S = 2.0
"""Between SIGTERM and SIGKILL."""
DRAIN_S = 1.0
"""How long a pipe may stay open once the group is dead: a process that left the group can hold it."""
PROBE_S = 5.0
KEPT_VARIABLES = ("PATH", "HOME", "LANG")
DEFAULT_VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

Hear = Callable[[bytes], bool | None]
"""Gets what is written to a stream, as it comes. True: that is enough, end it."""

_STDIN, _STDOUT, _STDERR = range(3)


class ProcessStart(Struct, frozen=True):
    """Everything that starts a command. `folder` is open, or a path where it cannot be."""

    argv: Sequence[str]
    folder: int | str
    env: Mapping[str, str]
    timeout_s: float
    stdin: bytes | None = None
    tied: bool = True
    """Ended by the kernel when we are killed; what lives for a moment needs no such care."""
    cell: Cell | None = None
    memory_bytes: int = 0
    """What it, and each it starts, may take; 0: as much as they like."""


class ProcessExit(Struct, frozen=True):
    status: int
    """Negative: ended by that signal; behind the wall of a cell that is 128 and its number."""
    timed_out: bool = False
    had_enough: bool = False


def clear_environment(environ: Mapping[str, str] = os.environ, keep: Sequence[str] = KEPT_VARIABLES) -> dict[str, str]:
    """Only what a program needs to run at all; secrets of ours stay ours."""
    return {**DEFAULT_VARIABLES, **{name: environ[name] for name in keep if name in environ}}


@contextmanager
def start_failures(tool: str, program: str) -> Generator[None]:
    """What keeps a program from starting, as an error of the tool that wants it."""
    try:
        yield
    except OSError as failure:
        raise ExecutionFailed(f"{tool}: {program} cannot be started: {failure.strerror or failure}") from None
    except SpawnFailed as refused:
        raise ExecutionFailed(f"{tool}: {refused.message}", hint=refused.hint) from None


async def run(start: ProcessStart, stdout: Hear, stderr: Hear) -> ProcessExit:
    """OSError if it cannot be started, SpawnFailed if its cell is required and cannot be had."""
    how = await _how(start)
    try:
        with _way_out(how, stderr):
            return await _run(start, how, stdout, stderr)
    finally:
        await _clear_up(how)


async def _run(start: ProcessStart, how: CellStart, stdout: Hear, stderr: Hear) -> ProcessExit:
    transport, pipes = await _spawn(start, how, stdout, stderr)
    try:
        _feed(transport, start.stdin)
        timed_out = await _until_done(pipes, start.timeout_s)
        await _end(pipes, transport.get_pid(), how)
        return ProcessExit(_status(transport), timed_out, pipes.enough.done())
    finally:
        await _leave(pipes, transport, how)


async def _how(start: ProcessStart) -> CellStart:
    """In a thread where programs may have to be tried out first."""
    if start.cell is not None:
        cell = replace(start.cell, memory=start.memory_bytes)
        return await asyncio.to_thread(cell.start, start.argv, _named(start.folder), start.env)
    before = await asyncio.to_thread(leash) if start.tied else ()
    return CellStart((*before, *memory_limit(start.memory_bytes), *start.argv), start.env)


async def _spawn(
    start: ProcessStart, how: CellStart, stdout: Hear, stderr: Hear
) -> tuple[asyncio.SubprocessTransport, "_Pipes"]:
    pipes = _Pipes({_STDOUT: stdout, _STDERR: stderr})
    spawning = asyncio.ensure_future(_begin(start, how, pipes))
    try:
        return await asyncio.shield(spawning), pipes
    except asyncio.CancelledError:
        transport = await spawning  # it is there in a moment, and nobody else would end it
        await _leave(pipes, transport, how)
        raise
    finally:
        for descriptor in how.descriptors:
            os.close(descriptor)


async def _begin(start: ProcessStart, how: CellStart, pipes: "_Pipes") -> asyncio.SubprocessTransport:
    with pipes.opened() as (stdout, stderr):
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: pipes,
            *how.argv,
            stdin=subprocess.DEVNULL if start.stdin is None else subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            cwd=start.folder if isinstance(start.folder, str) else path_of(start.folder),
            env=dict(how.env),
            start_new_session=True,
            pass_fds=how.descriptors,
        )
    await pipes.listen()
    return transport


@contextmanager
def _way_out(how: CellStart, stderr: Hear) -> Generator[None]:
    """Serve the hosts its cell lists for as long as it runs; what is refused is heard as if it had said so."""
    if how.handed is None:
        yield
        return
    from clawft.sandbox.door import Door  # only for those who list hosts

    def tell(refused: str) -> None:
        stderr(f"sandbox: {refused}\n".encode())

    door = Door(how.handed, how.hosts, tell)
    try:
        yield
    finally:
        door.close()


async def _clear_up(how: CellStart) -> None:
    if how.temporary:
        from clawft.sandbox.removal import remove  # only where it had a temporary folder of its own

        await asyncio.to_thread(remove, how.temporary)


def _feed(transport: asyncio.SubprocessTransport, data: bytes | None) -> None:
    if data is not None:
        pipe = cast("asyncio.WriteTransport", transport.get_pipe_transport(_STDIN))  # uvloop's is none by its class
        pipe.write(data)
        pipe.close()  # after what waits to be written


async def _until_done(pipes: "_Pipes", timeout_s: float) -> bool:
    """Until it has ended or was enough; True if the deadline came first."""
    await asyncio.wait([pipes.exited, pipes.enough], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    return not pipes.exited.done() and not pipes.enough.done()


async def _end(pipes: "_Pipes", group: int, how: CellStart) -> None:
    """Ask, then make; and hear what was still on its way."""
    if not pipes.exited.done():
        ask_to_end(group, walled=how.walled)
        await asyncio.wait([pipes.exited], timeout=TERM_GRACE_S)
    if not pipes.exited.done() or not how.tended:  # else its number may be someone else's by now
        end(group, tended=how.tended)
    await asyncio.wait([pipes.exited], timeout=DRAIN_S)  # one that hangs in the kernel is not waited for
    await asyncio.wait([pipes.drained, pipes.enough], timeout=DRAIN_S, return_when=asyncio.FIRST_COMPLETED)


async def _leave(pipes: "_Pipes", transport: asyncio.SubprocessTransport, how: CellStart) -> None:
    """One that was cancelled has not been waited for. Cancelled once more, it is killed at once."""
    group = transport.get_pid()
    try:
        if not pipes.exited.done():
            ask_to_end(group, walled=how.walled)
            await asyncio.wait([pipes.exited], timeout=TERM_GRACE_S)
        if not pipes.exited.done() and how.tended:
            end(group, tended=True)
            await asyncio.wait([pipes.exited], timeout=TERM_GRACE_S)
    finally:
        signal_group(group)
        try:
            await asyncio.wait([pipes.exited], timeout=DRAIN_S)
        finally:
            transport.close()
            pipes.close()


def _status(transport: asyncio.SubprocessTransport) -> int:
    status = transport.get_returncode()
    return -signal.SIGKILL if status is None else status


def path_of(folder: int) -> str:
    """A path for an open folder. `/proc`, where there is one, names the descriptor, whatever happened to its path."""
    own = f"/proc/self/fd/{folder}"
    return own if os.path.isdir(own) else _recorded_path(folder)


def _named(folder: int | str) -> str:
    """The same by its own name: a descriptor means nothing inside a cell."""
    return os.path.realpath(folder if isinstance(folder, str) else path_of(folder))


def _recorded_path(folder: int) -> str:
    import fcntl  # only where there is no /proc

    get_path = getattr(fcntl, "F_GETPATH", None)
    if get_path is None:
        raise OSError("this system cannot name an open folder")
    return os.fsdecode(fcntl.fcntl(folder, get_path, bytes(1024)).rstrip(b"\0"))


class _Pipes(asyncio.SubprocessProtocol):
    """What it writes, and that it ended.

    The pipes are our own. Those of uvloop are sockets, and no script can open `/dev/stderr` where that is one.
    """

    def __init__(self, hearers: Mapping[int, Hear]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self.enough: asyncio.Future[None] = loop.create_future()
        self._hearers = hearers
        self._open = set(hearers)
        self._ends: dict[int, BinaryIO] = {}
        self._heard: list[asyncio.ReadTransport] = []

    @contextmanager
    def opened(self) -> Generator[list[int]]:
        """The ends it writes to, which are its own once it has begun."""
        writes: list[int] = []
        try:
            for stream in self._hearers:
                read, write = os.pipe()
                writes.append(write)
                self._ends[stream] = os.fdopen(read, "rb", buffering=0)
            yield writes
        except BaseException:
            self.close()
            raise
        finally:
            for write in writes:
                os.close(write)

    async def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for stream, read in self._ends.items():
            transport, _ = await loop.connect_read_pipe(partial(_Stream, self, stream), read)
            self._heard.append(transport)

    def close(self) -> None:
        for held in (*self._heard, *self._ends.values()):
            held.close()

    def heard(self, stream: int, data: bytes) -> None:
        if self._hearers[stream](data):
            _settle(self.enough)

    def ended(self, stream: int) -> None:
        self._open.discard(stream)
        if not self._open:
            _settle(self.drained)

    def process_exited(self) -> None:
        _settle(self.exited)


class _Stream(asyncio.Protocol):
    def __init__(self, pipes: _Pipes, stream: int) -> None:
        self._pipes, self._stream = pipes, stream

    def data_received(self, data: bytes) -> None:
        self._pipes.heard(self._stream, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pipes.ended(self._stream)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)

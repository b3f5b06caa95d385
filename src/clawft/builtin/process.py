"""Runs a command to its end and passes on its output: own group, cleared environment, deadline, and perhaps a cell.

However it ends (exit, deadline, enough output, cancelled), no process of its group is left behind. It is asked to stop
before it is killed: git removes its locks then, builders their half-written files.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, BinaryIO, cast

from msgspec import Struct
from msgspec.structs import replace

from clawft.errors import ExecutionFailed, SpawnFailed
from clawft.link.pipe_ends import handed_over
from clawft.link.process import Child
from clawft.sandbox.cell import Cell, CellStart
from clawft.sandbox.probe import leash, memory_limit

DRAIN_S = 1.0
"""How long a pipe may stay open once the group is dead: a process that left the group can hold it."""
PROBE_S = 5.0
TRIES = 3
"""How often a command is started if its cell was tampered with while it was built."""
KEPT_VARIABLES = ("PATH", "HOME", "LANG")
DEFAULT_VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

Hear = Callable[[bytes], bool | None]
"""Called with output as it comes. True: that is enough, end the command."""

_STDIN, _STDOUT, _STDERR = range(3)


class ProcessStart(Struct, frozen=True):
    """Everything that starts a command. `folder` is a descriptor, or a path where none can be had."""

    argv: Sequence[str]
    folder: int | str
    env: Mapping[str, str]
    timeout_s: float
    stdin: bytes | None = None
    tied: bool = True
    """The kernel ends it when we are killed; short commands do not need that."""
    cell: Cell | None = None
    memory_bytes: int = 0
    """Memory for it and for each process it starts; 0: no limit."""


class ProcessExit(Struct, frozen=True):
    status: int
    """Negative: ended by that signal; behind the wall of a cell it is 128 plus its number."""
    timed_out: bool = False
    had_enough: bool = False


def clear_environment(environ: Mapping[str, str] = os.environ, keep: Sequence[str] = KEPT_VARIABLES) -> dict[str, str]:
    """The variables a program needs to run at all, without secrets of ours."""
    return {**DEFAULT_VARIABLES, **{name: environ[name] for name in keep if name in environ}}


@contextmanager
def start_failures(tool: str, program: str) -> Generator[None]:
    """Turns errors of starting a program into errors of the tool."""
    try:
        yield
    except OSError as failure:
        raise ExecutionFailed(f"{tool}: {program} cannot be started: {failure.strerror or failure}") from None
    except SpawnFailed as refused:
        raise ExecutionFailed(f"{tool}: {refused.message}", hint=refused.hint) from None


async def run(start: ProcessStart, stdout: Hear, stderr: Hear) -> ProcessExit:
    """Run the command; its caller holds one of the `command_places`.

    Raises OSError if it cannot be started, SpawnFailed if its cell is required and cannot be had.
    """
    for _ in range(TRIES - 1):
        try:
            return await _run_in_cell(start, stdout, stderr)
        except SpawnFailed as failed:  # none of it ran
            if not failed.passing:
                raise
    return await _run_in_cell(start, stdout, stderr)


async def _run_in_cell(start: ProcessStart, stdout: Hear, stderr: Hear) -> ProcessExit:
    how = await _how(start)
    try:
        with _way_out(how, stderr):
            return await _run(start, how, stdout, stderr)
    finally:
        await _clear_up(how)


async def _run(start: ProcessStart, how: CellStart, stdout: Hear, stderr: Hear) -> ProcessExit:
    pipes = _Pipes({_STDOUT: stdout, _STDERR: stderr})
    child = _begin(start, how, pipes)
    try:
        await child.let_in()
        await pipes.listen()
        await pipes.feed(child.pipes.stdin, start.stdin)
        timed_out = await _until_done(child, pipes, start.timeout_s)
        await _end(child, pipes)
        return ProcessExit(_status(child), timed_out, pipes.enough.done())
    finally:
        await _leave(child, pipes)


async def _how(start: ProcessStart) -> CellStart:
    """How to start it; in a thread where sandbox means may have to be tried out first."""
    if start.cell is not None:
        cell = replace(start.cell, memory=start.memory_bytes)
        return await asyncio.to_thread(cell.start, start.argv, _named(start.folder), start.env)
    before = await asyncio.to_thread(leash) if start.tied else ()
    return CellStart((*before, *memory_limit(start.memory_bytes), *start.argv), start.env)


def _begin(start: ProcessStart, how: CellStart, pipes: "_Pipes") -> Child:
    """Start it here: this blocks only until the new process executes its program.

    uvloop's `subprocess_exec` marks all our memory for copying first, which takes many times as long.
    """
    try:
        with pipes.opened() as (stdout, stderr):
            process = subprocess.Popen(
                how.argv,
                stdin=subprocess.DEVNULL if start.stdin is None else subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                cwd=start.folder if isinstance(start.folder, str) else path_of(start.folder),
                env=how.env,
                start_new_session=True,
                bufsize=0,
                pass_fds=how.descriptors,
            )
    except BaseException:
        if how.gate is not None:
            how.gate.drop()
        raise
    finally:
        for descriptor in how.descriptors:
            os.close(descriptor)
    return Child(process, replace(how, temporary=""))  # then we remove its folder


@contextmanager
def _way_out(how: CellStart, stderr: Hear) -> Generator[None]:
    """Serve the proxy of its cell as long as it runs; refusals are passed on as part of its stderr."""
    if how.handed is None:
        yield
        return
    from clawft.sandbox.egress_proxy import EgressProxy  # only for those who list hosts

    def tell(refused: str) -> None:
        stderr(f"sandbox: {refused}\n".encode())

    proxy = EgressProxy(how.handed, how.hosts, tell)
    try:
        yield
    finally:
        proxy.close()


async def _clear_up(how: CellStart) -> None:
    if how.temporary:
        from clawft.sandbox.removal import remove  # only where it had a temporary folder of its own

        await asyncio.to_thread(remove, how.temporary)


async def _until_done(child: Child, pipes: "_Pipes", timeout_s: float) -> bool:
    """Wait until it has ended or gave enough output; True if the deadline came first."""
    await asyncio.wait([child.ended, pipes.enough], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    return not child.ended.done() and not pipes.enough.done()


async def _end(child: Child, pipes: "_Pipes") -> None:
    """Ask it to stop, then kill it; and take the output that is still in its pipes."""
    if not child.ended.done():
        await child.end()
    await asyncio.wait([pipes.drained, pipes.enough], timeout=DRAIN_S, return_when=asyncio.FIRST_COMPLETED)


async def _leave(child: Child, pipes: "_Pipes") -> None:
    """Clean up after a cancelled run. If cancelled again meanwhile, it is killed at once."""
    try:
        if not child.ended.done():
            await child.end()
    finally:
        child.kill_group()
        pipes.close()


def _status(child: Child) -> int:
    """The exit status; a process that hangs in the kernel has none, and is not waited for."""
    return child.ended.result() if child.ended.done() else -signal.SIGKILL


def path_of(folder: int) -> str:
    """A path for an open folder. `/proc`, where there is one, names the descriptor, whatever happened to its path."""
    own = f"/proc/self/fd/{folder}"
    return own if os.path.isdir(own) else _recorded_path(folder)


def _named(folder: int | str) -> str:
    """The real path of a folder: inside a cell a descriptor means nothing."""
    return os.path.realpath(folder if isinstance(folder, str) else path_of(folder))


def _recorded_path(folder: int) -> str:
    import fcntl  # only where there is no /proc

    get_path = getattr(fcntl, "F_GETPATH", None)
    if get_path is None:
        raise OSError("this system cannot name an open folder")
    return os.fsdecode(fcntl.fcntl(folder, get_path, bytes(1024)).rstrip(b"\0"))


class _Pipes:
    """The input and output of a process. They are pipes, as no script can open `/dev/stderr` where that is a socket."""

    def __init__(self, hearers: Mapping[int, Hear]) -> None:
        loop = asyncio.get_running_loop()
        self.drained: asyncio.Future[None] = loop.create_future()
        self.enough: asyncio.Future[None] = loop.create_future()
        self._hearers = hearers
        self._open = set(hearers)
        self._ends: dict[int, BinaryIO] = {}
        self._heard: list[asyncio.ReadTransport] = []
        self._fed: asyncio.WriteTransport | None = None

    @contextmanager
    def opened(self) -> Generator[list[int]]:
        """The ends it writes to, which are closed here once it has started."""
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
            transport, _ = await loop.connect_read_pipe(partial(_Stream, self, stream), handed_over(read, loop))
            self._heard.append(transport)

    async def feed(self, stdin: IO[bytes] | None, data: bytes | None) -> None:
        if stdin is not None and data is not None:
            loop = asyncio.get_running_loop()
            pipe, _ = await loop.connect_write_pipe(partial(_Input, self), handed_over(stdin, loop))
            pipe.write(data)
            pipe.close()  # after the data that waits to be written

    def feeds(self, pipe: asyncio.WriteTransport | None) -> None:
        """None: the pipe is closed, and must not be closed again."""
        self._fed = pipe

    def close(self) -> None:
        if self._fed is not None:
            self._fed.abort()  # output nobody took
        for held in (*self._heard, *self._ends.values()):
            held.close()

    def heard(self, stream: int, data: bytes) -> None:
        if self._hearers[stream](data):
            _settle(self.enough)

    def ended(self, stream: int) -> None:
        self._open.discard(stream)
        if not self._open:
            _settle(self.drained)


class _Input(asyncio.BaseProtocol):
    def __init__(self, pipes: _Pipes) -> None:
        self._pipes = pipes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipes.feeds(cast("asyncio.WriteTransport", transport))  # uvloop's is no instance of its class

    def connection_lost(self, exc: Exception | None) -> None:
        self._pipes.feeds(None)


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

"""One git process from its start to its end: argv only, a session of its own, bounded output, a deadline.

Whatever way it ends, none of its group is left. It is asked to stop before it is made to: git removes its locks then.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from msgspec import Struct

from clawft.builtin.process import DRAIN_S, TERM_GRACE_S, Tail
from clawft.errors import ExecutionFailed

Listen = Callable[[bytes], None]
"""Gets what git says on stderr while it runs."""

_STDIN, _STDOUT, _STDERR = range(3)


class Output(Struct, frozen=True):
    code: int
    out: bytes
    err: str


class Limits(Struct, frozen=True):
    """Of one run."""

    seconds: float
    output_bytes: int
    error_bytes: int


async def run(
    argv: Sequence[str],
    *,
    tool: str,
    folder: str,
    env: Mapping[str, str],
    limits: Limits,
    stdin: bytes | None = None,
    listen: Listen | None = None,
) -> Output:
    """Run to the end. ExecutionFailed at the deadline, or if there is more output than the bound."""
    loop = asyncio.get_running_loop()
    try:
        transport, pipes = await loop.subprocess_exec(
            lambda: _Pipes(limits, listen),
            *argv,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(env),
            start_new_session=True,
        )
    except OSError as failure:
        raise ExecutionFailed(f"{tool}: git cannot be started: {failure.strerror or failure}") from None
    try:
        _feed(transport, stdin)
        await _until_done(tool, pipes, limits)
        return Output(_code(transport), bytes(pipes.out), pipes.err.text())
    finally:
        await _end(pipes, transport.get_pid())
        transport.close()


def _feed(transport: asyncio.SubprocessTransport, data: bytes | None) -> None:
    if data is not None:
        pipe = cast("asyncio.WriteTransport", transport.get_pipe_transport(_STDIN))  # uvloop's is none by its class
        pipe.write(data)
        pipe.close()  # after what waits to be written


def _code(transport: asyncio.SubprocessTransport) -> int:
    code = transport.get_returncode()
    return -signal.SIGKILL if code is None else code


async def _until_done(tool: str, pipes: "_Pipes", limits: Limits) -> None:
    await asyncio.wait([pipes.exited, pipes.flooded], timeout=limits.seconds, return_when=asyncio.FIRST_COMPLETED)
    if pipes.exited.done():
        await asyncio.wait([pipes.drained, pipes.flooded], timeout=DRAIN_S, return_when=asyncio.FIRST_COMPLETED)
    if pipes.flooded.done():
        raise ExecutionFailed(
            f"{tool}: git gave more than {limits.output_bytes} bytes",
            hint="ask for less: a path, a range, a smaller page",
        )
    if not pipes.exited.done():
        raise ExecutionFailed(f"{tool}: git took longer than {limits.seconds:g} s and was ended")


async def _end(pipes: "_Pipes", group: int) -> None:
    try:
        if not pipes.exited.done():
            _signal(group, signal.SIGTERM)
            await asyncio.wait([pipes.exited], timeout=TERM_GRACE_S)
    finally:
        _signal(group, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass  # nobody left; or (macOS) only zombies


class _Pipes(asyncio.SubprocessProtocol):
    def __init__(self, limits: Limits, listen: Listen | None) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self.flooded: asyncio.Future[None] = loop.create_future()
        self.out = bytearray()
        self.err = Tail(limits.error_bytes)
        self._most = limits.output_bytes
        self._listen = listen
        self._open = {_STDOUT, _STDERR}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDERR:
            self.err.add(data)
            if self._listen is not None:
                self._listen(data)
        elif len(self.out) + len(data) <= self._most:
            self.out += data
        else:
            _settle(self.flooded)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            _settle(self.drained)

    def process_exited(self) -> None:
        _settle(self.exited)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)

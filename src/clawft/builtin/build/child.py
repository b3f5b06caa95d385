"""A builder's process, heard line by line: own group, cleared environment, a deadline that ends the whole group.

Whatever way it ends (exit, deadline, cancelled), no process of its group is left behind.
"""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from clawft.builtin.process import DRAIN_S, TERM_GRACE_S, dies_with_us, path_of

MAX_LINE_BYTES = 1024 * 1024
"""The longest line that is heard whole; of a longer one only the beginning is."""

Hear = Callable[[str], None]
"""Gets each line, without its end."""

_STDOUT, _STDERR = 1, 2
_END = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a return at the very end may have its line feed still to come


class Start(Struct, frozen=True):
    """Everything that starts a builder. `folder` is open; `secret` is blotted out of every line."""

    argv: Sequence[str]
    folder: int
    env: Mapping[str, str]
    timeout_s: float
    secret: str = ""


class Ended(Struct, frozen=True):
    exit_code: int | None
    """None: ended by a signal."""
    timed_out: bool = False


async def run_lines(start: Start, stdout: Hear, stderr: Hear) -> Ended:
    """Run it to its end. OSError if it cannot be started."""
    loop = asyncio.get_running_loop()
    prefix = await asyncio.to_thread(dies_with_us)
    transport, heard = await loop.subprocess_exec(
        lambda: _Heard({_STDOUT: Lines(stdout, start.secret), _STDERR: Lines(stderr, start.secret)}),
        *prefix,
        *start.argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=path_of(start.folder),
        env=dict(start.env),
        start_new_session=True,
    )
    group = transport.get_pid()
    try:
        timed_out = await _wait(heard, group, start.timeout_s)
        end_group(group)
        await asyncio.wait([heard.drained], timeout=DRAIN_S)
        return Ended(_exit_code(transport.get_returncode()), timed_out)
    finally:
        await _leave(transport, heard, group)


async def _leave(transport: asyncio.SubprocessTransport, heard: "_Heard", group: int) -> None:
    """End whoever is left, and see it gone: one that was cancelled has not been waited for."""
    end_group(group)
    try:
        await asyncio.wait([heard.exited], timeout=DRAIN_S)
    finally:
        transport.close()


def end_group(group: int, number: signal.Signals = signal.SIGKILL) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass  # nobody left; or (macOS) only zombies


async def _wait(heard: "_Heard", group: int, timeout_s: float) -> bool:
    """Wait for the exit; True if the deadline came first."""
    await asyncio.wait([heard.exited], timeout=timeout_s)
    if heard.exited.done():
        return False
    end_group(group, signal.SIGTERM)
    await asyncio.wait([heard.exited], timeout=TERM_GRACE_S)
    end_group(group)
    await asyncio.wait([heard.exited], timeout=DRAIN_S)  # one that hangs in the kernel is not waited for
    return True


def _exit_code(status: int | None) -> int | None:
    return None if status is None or status < 0 else status


class _Heard(asyncio.SubprocessProtocol):
    def __init__(self, lines: Mapping[int, "Lines"]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self._lines = lines
        self._open = set(lines)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._lines[fd].add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._lines[fd].end()
        self._open.discard(fd)
        if not self._open and not self.drained.done():
            self.drained.set_result(None)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)


class Lines:
    """Cuts a stream into lines. A carriage return ends one too: that is how progress bars are drawn."""

    def __init__(self, hear: Hear, secret: str = "") -> None:
        self._hear = hear
        self._secret = secret
        self._rest = b""

    def add(self, data: bytes) -> None:
        *whole, rest = _END.split(self._rest + data)
        for line in whole:
            self._tell(line)
        self._rest = rest[: MAX_LINE_BYTES + 1]

    def end(self) -> None:
        if self._rest:
            self._tell(self._rest.removesuffix(b"\r"))
        self._rest = b""

    def _tell(self, line: bytes) -> None:
        text = line[:MAX_LINE_BYTES].decode("utf-8", "replace")
        self._hear(text.replace(self._secret, "[secret]") if self._secret else text)

"""A secret that a program prints: started without a shell, within bounds, and gone when we are."""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Generator

from clawft.sandbox.probe import tether

COMMAND_SECONDS = 10.0
LAST_SECONDS = 2.0
"""How long a command may take to end after it has closed its output."""


class CommandFailed(Exception):
    """Why the command gave no secret, in words that do not contain its output."""


def said_by(line: str, most: int) -> bytes:
    """The output of the program, at most so many bytes; a program that prints more is killed."""
    child = subprocess.Popen(
        _argv(line),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # whatever it says may hold the secret
        start_new_session=True,
    )
    _asked.add(child)
    try:
        with _ended_with_us(child.pid):
            return _what_it_says(child, most)
    finally:
        _asked.discard(child)


_asked: set[subprocess.Popen[bytes]] = set()
"""Commands that still run."""


_WATCH = 'read -r _; kill -s KILL -- "-$1"'


@contextlib.contextmanager
def _ended_with_us(group: int) -> Generator[None]:
    """End the group of processes with us, even when we are killed: then nobody holds the input of whoever
    waits for it.
    """
    watch: subprocess.Popen[bytes] | None = None
    with contextlib.suppress(OSError):  # a machine without that shell, or one that is full
        argv = ("/bin/sh", "-c", _WATCH, "sh", str(group))
        quiet = subprocess.DEVNULL
        watch = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        yield
    finally:
        if watch is not None:
            watch.kill()  # before its input ends
            watch.communicate()


@atexit.register
def _end_all() -> None:
    """One that hangs has ten seconds, and need not stay for them when we go."""
    for child in tuple(_asked):
        _end(child, waiting=False)


def _argv(line: str) -> list[str]:
    """With what has the kernel end it when we are killed, where there is such a thing."""
    try:
        words = shlex.split(line)
    except ValueError:
        raise CommandFailed("a quote in it is not closed") from None
    if not words:
        raise CommandFailed("it names no program")
    return [*(tether() if shutil.which(words[0]) else ()), *words]


def _what_it_says(child: subprocess.Popen[bytes], most: int) -> bytes:
    pieces: list[bytes] = []
    reader = threading.Thread(target=lambda: pieces.append(_read(child, most)), daemon=True)
    reader.start()
    reader.join(COMMAND_SECONDS)
    in_time = not reader.is_alive()
    code = _end(child, waiting=in_time and len(pieces[0]) < most)
    if not in_time:
        raise CommandFailed(f"it did not end within {COMMAND_SECONDS:.0f} s")
    if len(pieces[0]) < most and code != 0:
        raise CommandFailed(f"it ended with status {code}")
    return pieces[0]


def _read(child: subprocess.Popen[bytes], most: int) -> bytes:
    if child.stdout is None:  # never with PIPE; the type does not know
        return b""
    with child.stdout as output:
        return output.read(most)


def _end(child: subprocess.Popen[bytes], *, waiting: bool) -> int | None:
    """With everything it started; `waiting`: it has said all and is about to end by itself."""
    if waiting:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(LAST_SECONDS)
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()
    return child.wait()

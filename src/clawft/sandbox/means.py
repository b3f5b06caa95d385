"""Remembers which sandbox means work here, until the next boot: trying them out takes longer than a start may."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from clawft.sandbox import pipes
from clawft.sandbox.probe import MAX_TASKS, Means, content_of, hard_limit, probe, which

MAX_KEPT_BYTES = 64 * 1024
SHAPE = 4
"""Version of the remembered file; counted up when the trials change."""

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # a pipe is not waited for


class _Remembered(Struct, frozen=True):
    here: str
    means: Means


def means(folder: Path) -> Means:
    """The means found since this machine was booted; tried out now if there is no record."""
    return _means(str(folder / "sandbox.json"))


@lru_cache(maxsize=4)
def _means(file: str) -> Means:
    here, kept = _here(), _kept(file)
    if kept is not None and kept.here == here:
        return kept.means
    found = probe()
    _remember(file, _Remembered(here, found))
    return found


def _kept(file: str) -> _Remembered | None:
    """The record of an earlier start; None if others could have written it, as it names what precedes every command."""
    try:
        descriptor = os.open(file, os.O_RDONLY | _AT_ONCE)
        try:
            content = os.read(descriptor, MAX_KEPT_BYTES) if _is_ours_alone(os.fstat(descriptor)) else b""
        finally:
            os.close(descriptor)
        return msgspec.json.decode(content, type=_Remembered)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _is_ours_alone(found: os.stat_result) -> bool:
    if not stat.S_ISREG(found.st_mode):
        return False
    return sys.platform == "win32" or (
        found.st_uid in (os.getuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _remember(file: str, what: _Remembered) -> None:
    """Write the record. If that fails, the next start tries the means again."""
    temporary = f"{file}.{os.getpid()}"
    try:
        _make_private(Path(file).parent)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as written:
            written.write(msgspec.json.encode(what))
        os.replace(temporary, file)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)


def _make_private(folder: Path) -> None:
    """Make the folder and the home it lies in, closed to others from the first moment."""
    for each in (folder.parent, folder):
        each.mkdir(0o700, exist_ok=True)


def _here() -> str:
    """The state the record is valid for: boot, namespaces, user, limits, bubblewrap and shell."""
    program = which("bwrap") or ""
    stamps = map(_stamp_of, (program, pipes.SHELL))
    system = [*map(content_of, ("/proc/sys/kernel/random/boot_id", "/proc/self/attr/current"))]
    spaces = [*map(_link_at, ("/proc/self/ns/user", "/proc/self/ns/mnt"))]
    return "|".join([str(SHAPE), sys.platform, *_user(), *system, *spaces, program, *stamps])


def _stamp_of(program: str) -> str:
    try:
        return str(os.stat(program).st_mtime_ns)
    except OSError:
        return ""


def _user() -> list[str]:
    """Our user id and hard limits, above which no limit can be set."""
    if sys.platform == "win32":
        return []
    return [str(os.getuid()), *(str(hard_limit(f"RLIMIT_{name}", MAX_TASKS)) for name in ("NOFILE", "NPROC"))]


def _link_at(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""

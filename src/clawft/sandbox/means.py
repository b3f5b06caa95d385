"""What was found to hold a child with, remembered until the next boot: to try it out takes longer than a start may."""

from __future__ import annotations

import os
import stat
import sys
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from clawft.sandbox import pipes
from clawft.sandbox.probe import MAX_TASKS, Means, content_of, hard_limit, probe, which

MAX_KEPT_BYTES = 64 * 1024
SHAPE = 4
"""Of what is remembered; counted up when the trials change."""

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # a pipe is not waited for


class _Remembered(Struct, frozen=True):
    here: str
    means: Means


def means(folder: Path) -> Means:
    """What was found since this machine was started; tried out now if nobody has."""
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
    """What an earlier start has written. None if others could have: it says what is put before every command."""
    try:
        descriptor = os.open(file, os.O_RDONLY | _AT_ONCE)
        try:
            told = os.read(descriptor, MAX_KEPT_BYTES) if _is_ours_alone(os.fstat(descriptor)) else b""
        finally:
            os.close(descriptor)
        return msgspec.json.decode(told, type=_Remembered)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _is_ours_alone(found: os.stat_result) -> bool:
    if not stat.S_ISREG(found.st_mode):
        return False
    return sys.platform == "win32" or (
        found.st_uid in (os.getuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _remember(file: str, what: _Remembered) -> None:
    """Nothing depends on it: where it cannot be written the next start tries again."""
    temporary = f"{file}.{os.getpid()}"
    try:
        _make_private(Path(file).parent)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as written:
            written.write(msgspec.json.encode(what))
        os.replace(temporary, file)
    except OSError:
        return


def _make_private(folder: Path) -> None:
    """The folder and the home it lies in, each closed to others from its first moment."""
    for each in (folder.parent, folder):
        each.mkdir(0o700, exist_ok=True)


def _here() -> str:
    """Another boot, namespace, user, bound, bubblewrap or shell: then it has to be tried again."""
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
    """Who we are, and what bounds us: nobody may set higher ones than his own."""
    if sys.platform == "win32":
        return []
    return [str(os.getuid()), *(str(hard_limit(f"RLIMIT_{name}", MAX_TASKS)) for name in ("NOFILE", "NPROC"))]


def _link_at(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""

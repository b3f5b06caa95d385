"""Checks that the mounts of a cell are the intended files, before the command may run.

bubblewrap takes paths and follows links. Between our look and its own, others who may write to a folder can put a link
in place of an entry, so that another place is opened or closed. So each intended file is noted, and must be what is
mounted: the same file, at this very path, with no link on the way.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from select import PIPE_BUF, POLLIN, poll

from msgspec import Struct

from clawft.errors import SpawnFailed
from clawft.sandbox.bounds import Bounds, PathAccess, is_within

BUILD_SECONDS = 10.0
"""How long bubblewrap may take to build the mounts."""
FIRST_LOOK_SECONDS, POLL_SECONDS = 0.002, 0.0005
"""Polling, as nothing reports that they are built: a look takes a tenth of a millisecond."""
_NOT_BUILT = f"after {BUILD_SECONDS:g} s it was not built"
_PID = rb'"child-pid": *([0-9]+)'
_ESCAPED = rb"\\([0-7]{3})"
_LAST, _UNFINISHED = b" /proc/1/mem ", b" /newroot"
"""Mount points that every finished cell has, and that none has any more."""
_ENDED = (errno.ENOENT, errno.ESRCH, errno.EINVAL)
"""Errors from a process that is gone, or about to be."""
_OURS: tuple[PathAccess, ...] = ("read", "write")
_NOT_OURS: tuple[PathAccess, ...] = ("hide", "empty")


class Wall(Struct, frozen=True):
    """The file a rule is for, as it was when the rule was decided."""

    path: str
    access: PathAccess
    device: int
    file: int
    read_only: bool
    """Whether it was read-only before any rule."""

    def wrong_in(self, root: str) -> str:
        """Why the mount seen from this root is not the intended file; empty if it is."""
        try:
            seen = look(self.path, root)
        except OSError as gone:
            return f"{self.path}: {gone.strerror}"
        if seen is None:
            return f"there is a link on the way to {self.path}"
        is_same = (seen.device, seen.file) == (self.device, self.file)
        if is_same is not (self.access in _OURS):
            return f"{self.path} is not what it was"
        if is_same and seen.read_only is not (self.access == "read" or self.read_only):
            return f"{self.path} is not where it was"
        return ""


def look(path: str, root: str = "") -> Wall | None:
    """The file at this path; None if a link is on the way or in its place. Raises OSError if there is none."""
    descriptor = os.open(root + path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        seen, place = os.fstat(descriptor), os.fstatvfs(descriptor)
        if stat.S_ISLNK(seen.st_mode) or os.readlink(f"/proc/self/fd/{descriptor}") != path:
            return None
    finally:
        os.close(descriptor)
    return Wall(path, "read", seen.st_dev, seen.st_ino, bool(place.f_flag & os.ST_RDONLY))


def walls_of(bounds: Bounds, given: Iterable[str] = ()) -> tuple[Wall, ...]:
    """The intended files of all rules about places others may change; `given` are put there by us.

    Raises SpawnFailed if one is changed just now.
    """
    writable = {bounds.workspace, *(rule.path for rule in bounds.rules if rule.access == "write")} - {"", "/"}
    kept = {*given}
    return tuple(
        _meant(rule.path, rule.access)
        for rule in bounds.rules
        if rule.access in (*_OURS, *_NOT_OURS) and rule.path not in kept and _is_below(rule.path, writable)
    )


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path != folder and is_within(path, folder) for folder in folders)


def _meant(path: str, access: PathAccess) -> Wall:
    try:
        seen = look(path)
    except OSError:
        seen = None
    if seen is None:
        raise moved(f"{path} is not what it was")
    return Wall(path, access, seen.device, seen.file, seen.read_only)


def moved(why: str) -> SpawnFailed:
    return SpawnFailed(
        f"it was not started: somebody changes what its sandbox is made of ({why})",
        hint="try again when nothing else renames files there",
        passing=True,
    )


class Gate:
    """Holds a command back until its walls were checked."""

    def __init__(self, walls: Sequence[Wall]) -> None:
        self._walls = walls
        self._told, write_end = os.pipe()
        waits, self._opens = os.pipe()
        self.descriptors = write_end, waits
        """For bubblewrap: where it reports its child, and where the child waits."""

    def wrong(self) -> str:
        """Why the command may not run; empty if it may, or has ended already. Takes some milliseconds."""
        end = time.monotonic() + BUILD_SECONDS
        with open(self._told, "rb", buffering=0) as told:
            report = _first_object(told, end)
        found = re.search(_PID, report or b"")
        if found is None:
            return "" if report is not None else _NOT_BUILT
        try:
            return self._wrong_in(found[1].decode(), end)
        except OSError as unseen:
            if unseen.errno in _ENDED:
                return ""
            return f"it cannot be looked at: {unseen.strerror}"

    def _wrong_in(self, child: str, end: float) -> str:
        time.sleep(FIRST_LOOK_SECONDS)
        while not _is_built(mounts := _mounts(child)):
            if time.monotonic() > end:
                return _NOT_BUILT
            time.sleep(POLL_SECONDS)
        mounted = set(_places(mounts))
        elsewhere = [wall.path for wall in self._walls if wall.path not in mounted]
        if elsewhere:
            return f"{elsewhere[0]} is not where it was"
        return next(filter(None, (wall.wrong_in(f"/proc/{child}/root") for wall in self._walls)), "")

    def drop(self) -> None:
        """No command was started: close everything."""
        os.close(self._told)
        self.close()

    def close(self) -> None:
        """Let the command run; one that may not has to be killed before."""
        os.close(self._opens)


def _first_object(told: FileIO, end: float) -> bytes | None:
    """The report of bubblewrap to the end of its JSON, as watching processes may keep the pipe open; None if late."""
    text, ready = b"", poll()
    ready.register(told, POLLIN)
    while b"}" not in text:
        if not ready.poll(max(0.0, end - time.monotonic()) * 1000):
            return None
        more = told.read(PIPE_BUF)
        if not more:
            break
        text += more
    return text


def _mounts(child: str) -> bytes:
    """The mounts of the child; empty while it changes its root. Raises OSError if it has ended."""
    with open(f"/proc/{child}/mountinfo", "rb") as mounts:
        return mounts.read()


def _is_built(mounts: bytes) -> bool:
    return _LAST in mounts and _UNFINISHED not in mounts


def _places(mounts: bytes) -> Iterator[str]:
    for line in mounts.splitlines():
        yield os.fsdecode(re.sub(_ESCAPED, _character, line.split(b" ", 5)[4]))


def _character(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8)])

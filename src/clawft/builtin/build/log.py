"""Writes the whole output of a builder to a file in the workspace, `.clawft/logs/….log`, for reading on.

Written only when a result had to leave something out. The folder is ignored by git, and keeps only the last few logs.
"""

import os
from collections import deque
from pathlib import Path

from clawft.builtin.confine import confined

FOLDER = ".clawft/logs"
MAX_LOG_BYTES = 4 * 1024 * 1024
MAX_LINES = 100_000
"""Lines of one log: short ones take more room in memory than in a file."""
MAX_LOGS = 8

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_END = ".log"


class Log:
    """The last lines of both streams, in the order they came."""

    def __init__(self, limit: int = MAX_LOG_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._lost = 0
        self._lines: deque[str] = deque()

    def add(self, line: str) -> None:
        self._lines.append(line)
        self._size += _bytes(line)
        while len(self._lines) > 1 and (self._size > self._limit or len(self._lines) > MAX_LINES):
            self._size -= _bytes(self._lines.popleft())
            self._lost += 1

    def text(self) -> str:
        head = [f"[the first {self._lost} lines are left out]"] if self._lost else []
        return "\n".join([*head, *self._lines, ""])


def _bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def keep_log(workspace: Path, name: str, log: Log) -> str:
    """Write the log; gives its path, relative to the workspace, for `file__read`."""
    path = f"{FOLDER}/{name}-{os.urandom(4).hex()}{_END}"
    with confined(workspace, path, name, create=True) as found:
        _ignore_in_git(found.folder)
        with open(found.open(_NEW), "w", encoding="utf-8", errors="replace") as file:
            file.write(log.text())
        _forget_oldest(found.folder)
    return path


def _ignore_in_git(folder: int) -> None:
    try:
        descriptor = os.open(".gitignore", _NEW | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except FileExistsError:
        return
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write("*\n")


def _forget_oldest(folder: int) -> None:
    names = [name for name in os.listdir(folder) if name.endswith(_END)]
    newest_first = sorted(names, key=lambda name: -_written(name, folder))
    for name in newest_first[MAX_LOGS:]:
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            continue  # another run was faster


def _written(name: str, folder: int) -> int:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns
    except FileNotFoundError:
        return 0

"""Opens paths that must stay inside the workspace, held by descriptors from the check to the use.

A path is walked part by part from an open folder. Symlinks are read and followed by us, never by the kernel; `..` goes
back to a folder that is already open. What is opened in the end is a name inside an open folder, so a parent that is
swapped for a symlink between check and use leads nowhere. Names are never compared, so letter case cannot fool a check.

Our own folder, with everybody's tokens and approvals in it, is no part of a workspace that happens to hold it.

`openat2(RESOLVE_BENEATH)` would do most of this in one call, but it exists on Linux only and refuses absolute symlinks
that point back inside.
"""

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import BinaryIO

from clawft.builtin.file_names import escaped_name, unescaped_name
from clawft.errors import ExecutionFailed, PermissionDenied, ToolError
from clawft.store.home import home

MAX_PATH_CHARS = 4096
MAX_PARTS = 256
MAX_LINKS = 40

SHARED = frozenset({"logs", "mcp.toml", "tasks.toml"})
"""Files of a workspace's `.clawft` that stay open, even if that is our own folder, as in a home."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SWAPPED = (errno.ELOOP, errno.ENOTDIR)


class ConfinedPath:
    """Where a path really ends: a name that is no symlink (and may not exist yet) in an open folder."""

    __slots__ = ("folder", "name", "relative")

    def __init__(self, folder: int, name: str, relative: str) -> None:
        self.folder = folder
        self.name = name
        self.relative = relative

    def open(self, flags: int, mode: int = 0o666) -> int:
        return os.open(self.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self.folder)

    def stat(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)


@contextmanager
def confined(root: Path, path: str, tool: str, *, create: bool = False, missing: str = "") -> Generator[ConfinedPath]:
    """Find `path` beneath `root`. `create` makes missing folders, which are removed again if it fails; `missing` is the
    hint if one is missing.

    Raises PermissionDenied if it leads outside; every OSError inside the block becomes a ToolError that names the path.
    """
    check_text(path, tool)
    walk = _Walk(root, path, tool, create)
    try:
        yield walk.end()
    except BaseException as failure:
        walk.undo()
        if isinstance(failure, OSError):
            raise as_tool_error(failure, tool, path, missing) from None
        raise
    finally:
        walk.close()


def resolve(root: Path, path: str, tool: str) -> Path:
    """The real path of something that exists inside `root`, for programs that take only paths.

    Between this check and its use a parent can still be swapped; where we open things ourselves, use `confined`.
    """
    with confined(root, path, tool) as found:
        found.stat()
        return Path(os.path.realpath(root), found.relative)


def real_path(path: str, tool: str) -> str:
    """The path an agent names, unescaped. Raises PermissionDenied for one that is invalid."""
    check_text(path, tool)
    return unescaped_name(path)


def open_folder(root: Path, path: str, tool: str) -> int:
    """A descriptor of the folder, which the caller closes."""
    with confined(root, path, tool) as found:
        return found.open(os.O_RDONLY | os.O_DIRECTORY)


def open_file(found: ConfinedPath) -> BinaryIO:
    """The regular file at a place. A pipe or device is refused before it can block us."""
    descriptor = found.open(os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_regular(os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def check_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "this is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "this is not a regular file")


def check_text(path: str, tool: str) -> None:
    """Refuse a path that is invalid as a text."""
    if "\0" in path:
        raise PermissionDenied(tool, "a path may not contain a null byte")
    if not path:
        raise PermissionDenied(tool, "the path is empty", hint="'.' is the workspace")
    if len(path) > MAX_PATH_CHARS:
        raise PermissionDenied(tool, f"the path has {len(path)} characters, the bound is {MAX_PATH_CHARS}")


def as_tool_error(failure: OSError, tool: str, path: str, missing: str = "") -> ToolError:
    """An OSError as a tool error that names the path as agents write it."""
    path = escaped_name(path)
    if failure.errno == errno.ELOOP:
        return PermissionDenied(tool, f"'{path}' runs through too many symlinks or was swapped while in use")
    hint = missing if failure.errno == errno.ENOENT else ""
    return ExecutionFailed(f"{tool}: {(failure.strerror or str(failure)).lower()}: '{path}'", hint=hint)


class _Walk:
    """One walk down from the root: the folders that are open and the parts still to go."""

    def __init__(self, root: Path, path: str, tool: str, create: bool) -> None:
        self.root, self.path, self.tool, self.create = root, path, tool, create
        self.told = escaped_name(path)
        self.folders: list[int] = []
        self.names: list[str] = []
        self.todo: list[str] = []
        self.made: list[tuple[int, str]] = []
        """Folders that were made, each with the folder around it."""
        self.links = 0

    def end(self) -> ConfinedPath:
        self.folders.append(self.top())
        self.go(self.path)
        while self.todo:
            part = self.todo.pop()
            if part == "..":
                self.up()
            elif part not in SHARED and is_ours(self.folders[-1]):
                raise self.private()
            elif (target := read_link(part, self.folders[-1])) is not None:
                self.follow(target)
            elif not self.todo:
                return ConfinedPath(self.folders[-1], part, "/".join([*self.names, part]))
            else:
                self.down(part)
        return ConfinedPath(self.folders[-1], ".", "/".join(self.names) or ".")

    def top(self) -> int:
        try:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise ExecutionFailed(
                f"{self.tool}: the workspace '{self.root}' is not a folder any more",
                hint="it was moved or removed; start weft again in its new place",
            ) from None

    def go(self, path: str) -> None:
        """Put the parts of a path in front of those still to go; an absolute path starts again at the root."""
        parts: Sequence[str] = PurePath(path).parts
        if os.path.isabs(path):
            parts = self.beneath_root(parts)
            while self.names:
                self.up()
        if len(parts) + len(self.todo) > MAX_PARTS:
            raise PermissionDenied(self.tool, f"'{self.told}' has more than {MAX_PARTS} parts")
        self.todo.extend(reversed(parts))

    def beneath_root(self, parts: Sequence[str]) -> Sequence[str]:
        for root in (PurePath(os.path.realpath(self.root)).parts, PurePath(os.path.abspath(self.root)).parts):
            if parts[: len(root)] == root:
                return parts[len(root) :]
        raise self.outside()

    def follow(self, target: str) -> None:
        self.links += 1
        if self.links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self.go(target)

    def down(self, part: str) -> None:
        if self.create and make_folder(part, self.folders[-1]):
            self.made.append((os.dup(self.folders[-1]), part))
        try:
            self.folders.append(os.open(part, _FOLDER, dir_fd=self.folders[-1]))
        except OSError as failure:
            if failure.errno in _SWAPPED and read_link(part, self.folders[-1]) is not None:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
            raise
        self.names.append(part)

    def up(self) -> None:
        if not self.names:
            raise self.outside()
        self.names.pop()
        os.close(self.folders.pop())

    def undo(self) -> None:
        for folder, name in reversed(self.made):
            with suppress(OSError):  # it is in use by now
                os.rmdir(name, dir_fd=folder)

    def close(self) -> None:
        for folder in (*self.folders, *(folder for folder, _ in self.made)):
            os.close(folder)

    def private(self) -> PermissionDenied:
        return PermissionDenied(self.tool, f"'{self.told}' belongs to clawft itself", hint="a person reads it by hand")

    def outside(self) -> PermissionDenied:
        return PermissionDenied(
            self.tool, f"'{self.told}' is outside the workspace", hint="paths start at the workspace"
        )


def is_ours(folder: int) -> bool:
    """Whether this open folder is our own home."""
    try:
        return os.path.samestat(os.fstat(folder), os.stat(home()))
    except OSError:  # our home does not exist yet
        return False


def read_link(name: str, folder: int) -> str | None:
    """The target of a symlink; None if there is no symlink of this name."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as failure:
        if failure.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def make_folder(name: str, folder: int) -> bool:
    """Whether the folder was made; if the name is taken by a file, opening it will fail."""
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:
        return False
    return True

"""Checks which files an agent may use: those beneath the roots, after following symlinks.

The roots are the workspace and, where a window has the workspace open beside other folders, those too. The editor
checks again on its side, as it may see other mounts than we do.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

from clawft.builtin.confine import check_text, confined, resolve
from clawft.errors import ExecutionFailed, IdeFileNotFound, PermissionDenied

TOOL = "ide"
SCHEME = "file://"


def find(roots: Sequence[Path], path: str) -> str:
    """The real path of a file that exists. Raises PermissionDenied outside the roots, IdeFileNotFound inside."""
    path = _checked(path)
    root = _root_of(roots, path)
    try:
        found = resolve(root, path, TOOL)
    except ExecutionFailed:
        raise IdeFileNotFound(path) from None
    if not found.is_file():
        raise IdeFileNotFound(path)
    return str(found)


def find_new(roots: Sequence[Path], path: str) -> str:
    """Like `find`, for a file that need not exist yet; its folder must."""
    path = _checked(path)
    root = _root_of(roots, path)
    try:
        with confined(root, path, TOOL) as found:
            return os.path.join(os.path.realpath(root), found.relative)
    except ExecutionFailed:
        raise IdeFileNotFound(path) from None


def _checked(path: str) -> str:
    """The path as plain text. Only the `file:` address is accepted."""
    check_text(path, TOOL)
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in path):
        raise PermissionDenied(TOOL, "a path may not contain control characters")
    if path.startswith(SCHEME):
        path = unquote(path.removeprefix(SCHEME))
        check_text(path, TOOL)
    if "://" in path or path.startswith("file:"):
        raise PermissionDenied(TOOL, f"'{path}' is an address, not a path", hint="give a path of the workspace")
    return path


def _root_of(roots: Sequence[Path], path: str) -> Path:
    """The root to start from: the deepest above an absolute path, otherwise the first one (the workspace)."""
    if not os.path.isabs(path):
        return roots[0]
    above = [root for root in roots if _is_above(root, path)]
    return max(above, key=lambda root: len(root.parts), default=roots[0])


def _is_above(root: Path, path: str) -> bool:
    parts = Path(os.path.normpath(path))
    return parts.is_relative_to(os.path.realpath(root)) or parts.is_relative_to(os.path.abspath(root))


def beneath(roots: Sequence[Path], files: Iterable[str]) -> set[str]:
    """The files of an editor that are really beneath the roots: it may have followed a link out of them."""
    real = [os.path.realpath(root) for root in roots]
    return {file for file in files if any(Path(os.path.realpath(file)).is_relative_to(root) for root in real)}


def shown(path: str, workspace: Path) -> str:
    """The path as agents see it: relative to the workspace if it lies inside."""
    try:
        return str(Path(path).relative_to(os.path.realpath(workspace)))
    except ValueError:
        return path

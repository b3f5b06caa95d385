"""Finds the folder and the program of a run before it starts, so that errors can say what is missing."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from clawft.builtin.confine import open_folder, resolve


class OpenFolder(Struct, frozen=True):
    """An open folder inside the workspace, and its real path. Its opener has to close it."""

    folder: int
    path: Path


def open_where(workspace: Path, path: str, tool: str) -> OpenFolder:
    """The folder. Raises PermissionDenied if it lies outside, ExecutionFailed if it does not exist."""
    folder = open_folder(workspace, path, tool)
    try:
        return OpenFolder(folder, resolve(workspace, path, tool))
    except BaseException:
        os.close(folder)
        raise


def find_above(where: Path, name: str, workspace: Path) -> Path | None:
    """The nearest file of this name in the folder or above it, no higher than the workspace."""
    top = workspace.resolve()
    for folder in (where, *where.parents):
        if (folder / name).is_file():
            return folder / name
        if folder == top:
            return None
    return None


def highest(folders: Sequence[Path], rules: Sequence[str], workspace: Path) -> Path:
    """The folder around all of these, or one above it that has a file which affects what is run."""
    common = Path(os.path.commonpath(folders))
    top = workspace.resolve()
    above = [folder for folder in common.parents if folder.is_relative_to(top)]
    ruling = [folder for folder in above if any((folder / rule).is_file() for rule in rules)]
    return ruling[-1] if ruling else common


def find_program(programs: Sequence[str], where: Path, workspace: Path, path: str) -> str | None:
    """The first program that exists: one with a slash is looked up here and in the folders above, others in PATH."""
    import shutil  # only where something is built

    for name in programs:
        found = _beside(name, where, workspace) if os.sep in name else shutil.which(name, path=path)
        if found:
            return found
    return None


def _beside(name: str, where: Path, workspace: Path) -> str | None:
    found = find_above(where, name, workspace)
    return str(found) if found is not None and os.access(found, os.X_OK) else None

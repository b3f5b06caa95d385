"""Finds a repository inside the workspace without asking git, and checks that all of it lies inside.

Git gets the folders we found, so neither its own search upward nor `core.worktree` can lead it elsewhere. It skips its
check of ownership then, so that is done here as well.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from clawft.builtin.confine import resolve
from clawft.builtin.git.settings import BOUNDS
from clawft.builtin.trust import list_file
from clawft.errors import ExecutionFailed, PermissionDenied

_BORROWING = 5
"""How long a chain of repositories may borrow objects from one another."""
_GIT_DIR_HAS = ("HEAD", "objects", "refs")
_LEAVES = ("objects",)
"""Folders of `.git` with too many files to check: git itself names the files in there."""


class RepositoryPaths(Struct, frozen=True):
    """Real paths. A bare repository has no work tree: its top is the repository itself."""

    top: Path
    git_dir: Path
    common_dir: Path
    bare: bool = False

    def has_own_folder(self) -> bool:
        return self.git_dir == self.common_dir == self.top / ".git"


def find_repository(workspace: Path, path: str, tool: str) -> RepositoryPaths:
    """The repository that `path` lies in, if it is completely inside the workspace."""
    root = Path(os.path.realpath(workspace))
    start = resolve(workspace, path, tool)
    if not start.is_dir():
        raise ExecutionFailed(f"{tool}: '{path}' is not a folder", hint="repo_path is the folder of a repository")
    for folder in (start, *start.parents):
        if not folder.is_relative_to(root):
            break
        found = _at(folder, root, tool)
        if found is not None:
            return found
    raise ExecutionFailed(
        f"{tool}: '{path}' is not in a git repository",
        hint="repo_path is relative to the workspace; git__clone gets one",
    )


def check_contents(repository: RepositoryPaths, workspace: Path, tool: str, owner: int | None) -> None:
    """Refuse what a stranger could have prepared: files of another user, links out of `.git`, objects from outside."""
    root = Path(os.path.realpath(workspace))
    for folder in {repository.top, repository.git_dir, repository.common_dir}:
        if owner is not None and folder.stat().st_uid != owner:
            raise PermissionDenied(
                tool,
                f"'{folder}' belongs to another user",
                hint=f"a person can add the folder to the list {list_file()}",
            )
    for folder in {repository.git_dir, repository.common_dir}:
        _check_links(folder, root, tool)
    _check_borrowing(repository.common_dir / "objects", root, tool)


def current_user() -> int | None:
    get: Callable[[], int] | None = getattr(os, "geteuid", None)
    return get() if get else None


def _at(folder: Path, root: Path, tool: str) -> RepositoryPaths | None:
    dot = folder / ".git"
    if dot.is_dir():
        return _whole(folder, _inside(dot, root, tool), root, tool) if _is_git_dir(dot) else None
    if dot.is_file():
        return _whole(folder, _inside(_pointed_at(dot, tool), root, tool), root, tool)
    if _is_git_dir(folder):
        return _whole(folder, folder, root, tool, bare=True)
    return None


def _whole(top: Path, git_dir: Path, root: Path, tool: str, *, bare: bool = False) -> RepositoryPaths:
    if not git_dir.is_dir():
        raise ExecutionFailed(
            f"{tool}: there is no repository at '{git_dir}', where '{top / '.git'}' says it is",
            hint="it was moved or removed: `git worktree repair`, or a new clone",
        )
    common = git_dir / "commondir"
    common_dir = _inside(git_dir / _small(common, tool), root, tool) if common.is_file() else git_dir
    return RepositoryPaths(top, git_dir, common_dir, bare)


def _is_git_dir(folder: Path) -> bool:
    return all(os.path.lexists(folder / name) for name in _GIT_DIR_HAS)


def _pointed_at(dot: Path, tool: str) -> Path:
    """The repository that a file `.git` names, as in work trees and submodules."""
    text = _small(dot, tool)
    if not text.startswith("gitdir: "):
        raise ExecutionFailed(f"{tool}: '{dot}' is neither a repository nor the way to one")
    return dot.parent / text.removeprefix("gitdir: ")


def _small(file: Path, tool: str) -> str:
    with file.open("rb") as opened:
        data = opened.read(BOUNDS.small_file_bytes + 1)
    if len(data) > BOUNDS.small_file_bytes or b"\0" in data:
        raise _odd(tool, file)
    return os.fsdecode(data).rstrip("\n")


def _odd(tool: str, file: str | Path) -> ExecutionFailed:
    return ExecutionFailed(f"{tool}: '{file}' is not what git puts there")


def _inside(path: Path, root: Path, tool: str) -> Path:
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(root):
        raise PermissionDenied(tool, f"the repository is kept outside the workspace, in '{real}'")
    return real


def _check_links(folder: Path, root: Path, tool: str) -> None:
    """Refuse links that lead outside, as git follows them when it writes logs and messages.

    Refuse pipes as well, on which git would wait until its deadline.
    """
    for entry in _entries(folder, tool):
        _check_entry(entry, root, tool)


def _check_entry(entry: os.DirEntry[str], root: Path, tool: str) -> None:
    if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(root):
        raise PermissionDenied(tool, f"'{entry.path}' is a link that leads outside the workspace")
    if not entry.is_dir() and not entry.is_file() and Path(entry.path).is_fifo():
        raise _odd(tool, entry.path)


def _entries(folder: Path, tool: str) -> Iterator[os.DirEntry[str]]:
    waiting, seen = [str(folder)], 0
    while waiting:
        with os.scandir(waiting.pop()) as found:
            for entry in found:
                seen += 1
                if seen > BOUNDS.entries:
                    raise ExecutionFailed(
                        f"{tool}: more than {BOUNDS.entries} files in '{folder}'",
                        hint="git pack-refs --all makes it fewer",
                    )
                yield entry
                if entry.name not in _LEAVES and stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode):
                    waiting.append(entry.path)


def _check_objects(objects: Path, root: Path, tool: str) -> None:
    """Check the folders of objects, packs and their data; single objects are too many."""
    for folder in (objects, objects / "pack", objects / "info"):
        if folder.is_dir():
            with os.scandir(folder) as found:
                for entry in found:
                    _check_entry(entry, root, tool)


def _check_borrowing(objects: Path, root: Path, tool: str) -> None:
    """Check where objects are borrowed from, each place once: lists may name one another without end."""
    seen: set[Path] = set()
    waiting = [(_inside(objects, root, tool), 0)]
    while waiting:
        place, depth = waiting.pop()
        if depth > _BORROWING:
            raise ExecutionFailed(f"{tool}: '{place}' borrows objects through more than {_BORROWING} repositories")
        if place not in seen:
            seen.add(place)
            _check_objects(place, root, tool)
            waiting += [(_inside(place / line, root, tool), depth + 1) for line in _borrowed(place, tool)]


def _borrowed(objects: Path, tool: str) -> set[str]:
    """The further object folders, as they are written."""
    alternates = objects / "info" / "alternates"
    lines = set(_small(alternates, tool).split("\n")) if alternates.is_file() else set[str]()
    if any(line.startswith('"') for line in lines):  # git would unquote it to another path
        raise _odd(tool, alternates)
    return {line for line in lines if line and not line.startswith("#")}

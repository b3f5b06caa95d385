"""The configuration of an untrusted repository as it was checked: git reads our copy of it, and not the file.

Whoever may write to the repository could put another file in its place between our look and that of git, which starts
the programs it names. So where git only looks, it is given a folder of ours as the one that all work trees share: the
copy is in it, and links to everything else that git reads there.
"""

import atexit
import os
import stat
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct

from clawft.builtin.git.repository_paths import RepositoryPaths
from clawft.builtin.git.settings import BOUNDS
from clawft.errors import ExecutionFailed
from clawft.store.home import home
from clawft.store.private_files import private_dir

LINKED = ("objects", "refs", "packed-refs", "reftable", "logs", "info", "shallow", "worktrees", "remotes", "branches")
"""The entries that git reads in the shared folder beside its configuration; hooks are switched off."""
CONFIG = "config"
_WHOLE = sorted((*LINKED, CONFIG))


class ConfigFiles(Struct, frozen=True):
    """The bytes of the files a repository is configured by; empty if there are none."""

    shared: bytes = b""
    of_work_tree: bytes = b""
    """The configuration of the work tree, which counts where `extensions.worktreeConfig` is set."""


def read_files(repository: RepositoryPaths, tool: str) -> ConfigFiles:
    """Looks at files, so run it in a thread."""
    shared, own = repository.common_dir / CONFIG, repository.git_dir / "config.worktree"
    return ConfigFiles(_read(shared, tool), _read(own, tool))


def _read(file: Path, tool: str) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return b""
    except OSError as unreadable:
        raise ExecutionFailed(f"{tool}: '{file}' cannot be read: {unreadable.strerror}") from None
    with open(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ExecutionFailed(f"{tool}: '{file}' is not what git puts there")
        content = opened.read(BOUNDS.config_bytes + 1)
    if len(content) > BOUNDS.config_bytes:
        raise ExecutionFailed(f"{tool}: '{file}' is longer than {BOUNDS.config_bytes} bytes")
    return content


def _private_folder() -> str:
    """In our home, which nobody sees who works in the workspace; temporary files may be kept in there."""
    from clawft.sandbox.temporary import private_folder  # only where there is such a repository

    folder = home() / "cache"
    try:
        private_dir(folder)
        return private_folder(str(folder))
    except OSError:  # it cannot be written
        return private_folder()


class KeptConfig:
    """The folder with the copy. It is removed once no call uses it and none is expected to."""

    def __init__(self, common_dir: Path) -> None:
        self.folder = _private_folder()
        _end_with_us()
        self.is_remembered = False
        self._users = 0
        _present.add(self)
        for name in LINKED:  # some may be made later
            os.symlink(common_dir / name, os.path.join(self.folder, name))

    def is_whole(self) -> bool:
        """Whether nobody has cleaned up in there, as is done with old temporary files."""
        try:
            return sorted(os.listdir(self.folder)) == _WHOLE
        except OSError:
            return False

    def enter(self) -> None:
        self._users += 1

    def leave(self) -> None:
        self._users -= 1
        self._remove_if_unused()

    def forget(self) -> None:
        self.is_remembered = False
        self._remove_if_unused()

    def _remove_if_unused(self) -> None:
        if self._users == 0 and not self.is_remembered:
            self.remove()

    @property
    def file(self) -> str:
        return os.path.join(self.folder, CONFIG)

    def put(self, content: bytes) -> None:
        Path(self.file).write_bytes(content)

    def content(self) -> bytes:
        return Path(self.file).read_bytes()

    def remove(self) -> None:
        _present.discard(self)
        with suppress(OSError):  # whoever cleans up old temporary files was faster
            for name in os.listdir(self.folder):
                os.unlink(os.path.join(self.folder, name))
            os.rmdir(self.folder)


def can_be_kept() -> bool:
    """Whether this machine has links, and descriptors that can be locked."""
    return sys.platform != "win32"


_present: set[KeptConfig] = set()


@cache
def _end_with_us() -> None:
    """Only now: what was registered first is done last, and that is the removal of the folder around ours."""
    atexit.register(remove_all)


def remove_all() -> None:
    for kept in list(_present):
        kept.remove()

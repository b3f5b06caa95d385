"""The Neovims of this user: the one we run in, and those whose sockets lie where Neovim puts them."""

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from glob import glob

MAX_SOCKETS = 16


def sockets(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Paths of sockets that only we can have made, newest first."""
    named = [environ[name] for name in ("NVIM", "NVIM_LISTEN_ADDRESS") if environ.get(name)]
    usual = [path for path in _usual(environ) if _is_private(os.path.dirname(path))]
    found = [path for path in dict.fromkeys([*named, *usual]) if _is_ours(path)]
    return sorted(found, key=lambda path: (path not in named, -os.stat(path).st_mtime))[:MAX_SOCKETS]


def _usual(environ: Mapping[str, str]) -> Iterator[str]:
    """Where Neovim listens without being told: the run folder since 0.8, a folder of its own before."""
    temporary = environ.get("TMPDIR") or tempfile.gettempdir()
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime:
        yield from glob(f"{runtime}/nvim.*")
    user = environ.get("USER") or environ.get("LOGNAME") or "*"
    yield from glob(f"{temporary}/nvim.{user}/*/nvim.*")
    yield from glob(f"{temporary}/nvim*/0")


def _is_ours(path: str) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == os.getuid()


def _is_private(folder: str) -> bool:
    """Anybody may put something into the folder for temporary files; what we find there by name must be ours alone."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

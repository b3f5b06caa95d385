"""Finds the sockets of this user's Neovims: the one we run in, and those in Neovim's usual folders."""

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from glob import glob

MAX_SOCKETS = 16


def sockets(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Paths of sockets that only this user can have made, newest first."""
    named = [environ[name] for name in ("NVIM", "NVIM_LISTEN_ADDRESS") if environ.get(name)]
    usual = [path for path in _usual(environ) if _is_private(os.path.dirname(path))]
    found = [path for path in dict.fromkeys([*named, *usual]) if _is_ours(path)]
    return sorted(found, key=lambda path: (path not in named, -os.stat(path).st_mtime))[:MAX_SOCKETS]


def _usual(environ: Mapping[str, str]) -> Iterator[str]:
    """The sockets in Neovim's default folders: the run folder since 0.8, a folder of its own before."""
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
    """Whether only we can write to the folder; in a shared temporary folder anybody may make sockets."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

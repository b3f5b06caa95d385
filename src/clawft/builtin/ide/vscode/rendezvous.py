"""The file by which editors find a gateway, in a folder only the user can read.

Process ids are not checked, as they mean nothing across containers and WSL: an editor finds out that a gateway is gone
when it tries to register there. A gateway touches its file as long as it lives; old files are removed by the next
gateway that starts.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from clawft.error_words import quoted
from clawft.errors import ConfigUnreadable
from clawft.store.private_files import private_dir, write_private

FOLDER = "ide"
PROTOCOL = 1
TOKEN_BYTES = 32
STALE_SECONDS = 600.0
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Rendezvous(Struct, frozen=True, rename="camel"):
    protocol: int
    url: str
    pid: int
    started: float
    registration_token: str
    workspace: str


def invite(home: Path, url: str, token: str, workspace: Path) -> Path:
    """Write our file. Raises ConfigUnreadable if others could read or change it."""
    folder = home / FOLDER
    private_dir(folder)
    check_private(folder)
    _forget_stale(folder)
    file = folder / f"gateway-{os.getpid()}-{secrets.token_hex(4)}.json"
    rendezvous = Rendezvous(PROTOCOL, url, os.getpid(), time.time(), token, str(workspace))
    write_private(file, msgspec.json.encode(rendezvous), sync=False)
    return file


def check_private(folder: Path) -> None:
    status = folder.stat()
    if status.st_mode & _OTHERS or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        raise ConfigUnreadable(f"others may look into {folder}", hint=f"chmod 700 {quoted(folder)}")


def _forget_stale(folder: Path) -> None:
    for file in folder.glob("gateway-*.json"):
        try:
            if time.time() - file.stat().st_mtime > STALE_SECONDS:
                file.unlink()
        except OSError:
            continue  # another gateway was faster

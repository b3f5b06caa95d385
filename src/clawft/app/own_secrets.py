"""Our own secrets: the token of the HTTP gateway and the key that signs state; made once, with mode 0600."""

from __future__ import annotations

import logging
import os
import re
import stat
from base64 import urlsafe_b64encode
from pathlib import Path

from clawft.errors import InvalidConfig
from clawft.store.file_locks import locked
from clawft.store.private_files import PRIVATE_FILE, private_dir, read_plain, write_private

KEY_LENGTH = 32
MAX_KEPT_BYTES = 4_096
SHORT_TOKEN = 20
"""A token of fewer characters that a person chose can be guessed."""

_TOKEN = rb"[!-~]{1,%d}" % (MAX_KEPT_BYTES - 1)
"""The characters that fit a header; one more byte than may be kept would be read from a file."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_ENTER = stat.S_IXGRP | stat.S_IXOTH

log = logging.getLogger("clawft.app")


def token_file(home: Path) -> Path:
    return home / "gateway.token"


def gateway_token(home: Path) -> str:
    """The token that opens our HTTP gateway. Raises InvalidConfig."""
    file = token_file(home)
    token = _kept(file)
    if re.fullmatch(_TOKEN, token) is None:
        raise InvalidConfig(
            f"{file} holds no token that a client could send", hint="remove it; a new one is created at the next start"
        )
    if len(token) < SHORT_TOKEN:
        log.warning("%s is easy to guess: it has only %d characters; remove it and start again", file, len(token))
    if os.name == "posix":
        _close_to_others(file)
    return token.decode("ascii")


def _close_to_others(file: Path) -> None:
    """Close the file to other users and warn: somebody may have read it."""
    found = file.lstat()
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode) or not mode & _OTHERS or not file.parent.stat().st_mode & _OTHERS_ENTER:
        return
    log.warning("others could read or change %s (%04o); remove it and start again to have a new token", file, mode)
    try:
        file.chmod(PRIVATE_FILE)
    except OSError as refused:  # another user owns it
        log.warning("%s is still accessible to other users: %s", file, refused.strerror)


def sealing_key(home: Path) -> bytes:
    """The key that signs state which callers carry for us."""
    return _kept(home / "state.key")


def _kept(path: Path) -> bytes:
    return _read(path) or _made(path)


def _read(path: Path) -> bytes:
    """The content; empty if the file is missing or has lost it: an empty token would let everybody in."""
    try:
        return read_plain(path, MAX_KEPT_BYTES).strip()
    except FileNotFoundError:
        return b""


def _made(path: Path) -> bytes:
    private_dir(path.parent)
    with locked(path.with_name("kept.lock")):
        known = _read(path)  # another process may have been faster
        if not known:
            known = urlsafe_b64encode(os.urandom(KEY_LENGTH)).rstrip(b"=")
            write_private(path, known)
        return known

"""Secrets of our own: made once, kept 0600."""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from pathlib import Path

from clawft.errors import InvalidConfig
from clawft.store.home import locked, private_dir, read_plain, write_private

KEY_LENGTH = 32
MAX_KEPT_BYTES = 4_096


def token_file(home: Path) -> Path:
    return home / "gateway.token"


def gateway_token(home: Path) -> str:
    """The token that opens our HTTP gateway. Raises InvalidConfig."""
    file = token_file(home)
    try:
        return _kept(file).decode("ascii")
    except UnicodeDecodeError:
        raise InvalidConfig(f"{file} holds no token", hint="remove it: a new one is made") from None


def sealing_key(home: Path) -> bytes:
    """What state that callers carry for us is signed with."""
    return _kept(home / "state.key")


def _kept(path: Path) -> bytes:
    return _read(path) or _made(path)


def _read(path: Path) -> bytes:
    """Nothing, too, of a file that lost its content: with an empty token everybody would be let in."""
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

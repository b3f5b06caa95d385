"""Secrets of our own: made once, kept 0600."""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from pathlib import Path

from clawft.store.home import private_dir, write_private

KEY_LENGTH = 32


def token_file(home: Path) -> Path:
    return home / "gateway.token"


def gateway_token(home: Path) -> str:
    """The token that opens our HTTP gateway."""
    return _kept(token_file(home)).decode().strip()


def sealing_key(home: Path) -> bytes:
    """What state that callers carry for us is signed with."""
    return _kept(home / "state.key")


def _kept(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        private_dir(path.parent)
        write_private(path, urlsafe_b64encode(os.urandom(KEY_LENGTH)).rstrip(b"="))
        return path.read_bytes()

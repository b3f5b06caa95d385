"""The secrets of one authorization request: a state nobody can guess and a proof only we can give (RFC 7636, S256)."""

from __future__ import annotations

import base64
import hashlib
import secrets


def new_state() -> str:
    return secrets.token_urlsafe(32)


def new_verifier() -> str:
    return secrets.token_urlsafe(64)


def challenge_of(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

"""Encrypts the files of logins with a key of the keyring, so that nobody can read them who has only the disk.

The files stay, because a file can be replaced whole, locked across processes and be as long as tokens are; a keyring
promises none of that. It holds one key, and the client secrets that were given to us in clear. Needs the extra
`keyring`; which backend it is, is for the `keyring` package to find.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from clawft.errors import ExecutionFailed
from clawft.store.extras import how_to_install

HEAD = b"clawft sealed 1\n"
SERVICE = "clawft"
KEY_NAME = "tokens"
KEY_BYTES = 32
NONCE_BYTES = 12
MARK = ".keyring"
"""Stands in the folder of the token store whose logins are encrypted."""
DEPTH = 3
"""Folders to look up through for the mark: those of servers and of people lie below the marked one."""

_keys: dict[str, bytes] = {}
"""The key, once we have it: a keyring may take its time, or ask the person."""


def is_marked(folder: Path) -> bool:
    """Whether logins in this folder are encrypted when they are written."""
    return any((above / MARK).exists() for above in (folder, *folder.parents)[:DEPTH])


def is_encrypted(data: bytes) -> bool:
    return data.startswith(HEAD)


def encrypt(data: bytes, label: str) -> bytes:
    """Encrypt for this label: under another one the data cannot be decrypted."""
    with _usable():
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # only where logins are encrypted

        nonce = os.urandom(NONCE_BYTES)
        return HEAD + nonce + AESGCM(_key()).encrypt(nonce, data, label.encode())


def decrypt(data: bytes, label: str) -> bytes:
    """Raises ExecutionFailed if the key is not there, or is another one."""
    with _usable():
        from cryptography.exceptions import InvalidTag  # only where logins are encrypted
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        body = data[len(HEAD) :]
        try:
            return AESGCM(_key()).decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], label.encode())
        except (InvalidTag, ValueError):
            raise ExecutionFailed(
                f"the login {label} was sealed with another key than the keyring has, or is damaged",
                hint=f"weft auth logout {label.rpartition('/')[2]}, then log in again",
            ) from None


def make_key() -> None:
    """If there is none yet. One caller at a time: two keys would be one too many."""
    with _usable():
        if not _read(KEY_NAME):
            keep(KEY_NAME, base64.b64encode(os.urandom(KEY_BYTES)).decode())
        _key()


def keep(name: str, secret: str) -> None:
    """One entry of ours in the keyring."""
    with _usable():
        import keyring  # optional: only for those who keep secrets there

        keyring.set_password(SERVICE, name, secret)


def drop(name: str) -> None:
    """One entry of ours; nothing happens if there is none."""
    with _usable():
        import keyring  # optional: only for those who keep secrets there

        if _read(name):
            keyring.delete_password(SERVICE, name)


def _key() -> bytes:
    if KEY_NAME not in _keys:
        stored = _read(KEY_NAME)
        if not stored:
            raise ExecutionFailed(
                "logins are sealed, and their key is not in the keyring",
                hint="unlock the keyring; if the key is lost for good: weft auth logout NAME, and log in again",
            )
        _keys[KEY_NAME] = base64.b64decode(stored)
    return _keys[KEY_NAME]


def _read(name: str) -> str:
    import keyring  # optional: only for those who keep secrets there

    return keyring.get_password(SERVICE, name) or ""


@contextmanager
def _usable() -> Generator[None]:
    """Turns errors of the keyring into errors in words that help."""
    try:
        yield
    except ImportError as missing:
        raise ExecutionFailed(
            f"to keep logins in the keyring the package {missing.name} is missing",
            hint=how_to_install("keyring"),
        ) from None
    except ExecutionFailed:
        raise
    except Exception as failed:  # noqa: BLE001 - backends raise what they like, and it may hold a secret
        raise ExecutionFailed(
            f"the keyring of this machine cannot be used: {type(failed).__name__}",
            hint="`keyring diagnose` tells more; `weft auth store file` does without one",
        ) from None

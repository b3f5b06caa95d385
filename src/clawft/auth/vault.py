"""The token store: one private file per provider or server, whole or not at all, one writer at a time.

    tokens/google.json            logins of a provider
    tokens/servers/github.json    logins to an MCP server
    tokens/secrets/3f….secret     client secrets that were given in clear; logins name them by reference

A file holds several logins if they differ in issuer, client, account or resource; the newest comes first. With
`weft auth store keyring` files are sealed, see `encryption`.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from clawft.auth import encryption
from clawft.auth.tokens import Login, TokenSet
from clawft.errors import ExecutionFailed, InvalidArguments, LoginFailed
from clawft.store.file_locks import locked
from clawft.store.home import home
from clawft.store.private_files import private_dir, read_plain, sweep, write_all, write_private
from clawft.store.secrets import SCHEME, is_reference

MAX_LOGINS = 32
"""Kept for one name; the oldest makes room."""
MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_LOGIN_BYTES = 120_000
"""So many that the largest of them fit into one file: what a stranger gives must not cost the others."""
SPARE_BYTES = 64 * 1024
"""By which a login may grow when it is renewed."""
SECRETS = "secrets"
WRITE_LOCK = ".write.lock"
"""Held by whoever writes in a folder of logins."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")
_STORED_NAME = re.compile(r"[0-9a-f]{32}")


class _File(Struct, omit_defaults=True):
    logins: list[Login] = []


_file = msgspec.json.Decoder(_File)


def check_name(name: str) -> str:
    """A name that cannot lead out of our folder. Raises InvalidArguments before any path is built."""
    if not _NAME.fullmatch(name) or ".." in name or name.startswith("."):
        raise InvalidArguments(f"{name!r} cannot be the name of a provider", hint="letters, digits, `.`, `_` and `-`")
    return name


class Vault:
    """All logins of the user. Work on files runs in threads."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or home() / "tokens"

    @property
    def servers(self) -> Vault:
        """The logins to MCP servers, apart from those of providers: the two may share a name."""
        return Vault(self.folder / "servers")

    # ── tokens by provider ───────────────────────────────────────────────────────────────────────────────────────────

    async def store_token(self, token: TokenSet) -> None:
        """Keep a token under its provider's name, with what is known of an earlier one."""
        known = await self.load(token.provider_name)
        base = known[0] if known else Login(token)
        await self.save(token.provider_name, msgspec.structs.replace(base, tokens=token))

    async def load_token(self, provider: str) -> TokenSet | None:
        logins = await self.load(provider)
        return logins[0].tokens if logins else None

    async def delete_token(self, provider: str) -> None:
        await self.delete(provider)

    # ── logins ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def load(self, name: str) -> list[Login]:
        """Newest first; empty if there are none."""
        return await asyncio.to_thread(self.read, name)

    async def save(self, name: str, login: Login) -> None:
        """On disk when this returns, in place of an earlier one with the same key, or to the same place and refused."""
        await asyncio.to_thread(self.write, name, login)

    async def delete(self, name: str) -> None:
        """Nothing happens if there is none."""
        await asyncio.to_thread(self._delete, name)

    def names(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("*.json")) if self.folder.is_dir() else []

    # ── in a thread ──────────────────────────────────────────────────────────────────────────────────────────────────

    def path(self, name: str) -> Path:
        return self.folder / f"{check_name(name)}.json"

    def _label(self, name: str) -> str:
        """The label that an encrypted login is bound to: under the name of another login it cannot be decrypted."""
        return f"{self.folder.name}/{name}"

    def lock(self, name: str) -> Path:
        """Held by whoever renews this login, until the renewed one is on disk."""
        return self.folder / f".{check_name(name)}.lock"

    def read(self, name: str) -> list[Login]:
        path = self.path(name)
        try:
            data = read_plain(path, MAX_FILE_BYTES)
        except FileNotFoundError:
            return []
        except OSError as failed:
            raise ExecutionFailed(
                f"{path} cannot be read: {failed.strerror}", hint="check that it is your own file"
            ) from None
        try:
            logins = _file.decode(
                encryption.decrypt(data, self._label(name)) if encryption.is_encrypted(data) else data
            ).logins
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ExecutionFailed(f"{path} is damaged", hint=f"weft auth logout {name}, then log in again") from None
        for login in logins:
            login.tokens.conceal()
        return logins

    def write(self, name: str, login: Login) -> None:
        """Raises LoginFailed for one that is too large to be kept."""
        if len(msgspec.json.encode(login)) > MAX_LOGIN_BYTES:
            raise LoginFailed(f"{name}: the login that was given takes more than {MAX_LOGIN_BYTES} bytes")
        self._change(name, lambda known: [login, *(each for each in known if not login.ends(each))][:MAX_LOGINS])

    def rewrite(self, name: str, change: Callable[[Login], Login]) -> None:
        """All logins of this name, each changed, in the form that holds now."""
        self._change(name, lambda known: [change(login) for login in known])

    def room(self, name: str) -> BinaryIO:
        """Taken on the disk for this login, renewed, until it is closed. Raises OSError if there is none."""
        import tempfile  # only where a login is renewed

        private_dir(self.folder, sync=True)
        path = self.path(name)
        size = path.stat().st_size if path.exists() else 0
        taken = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115 - it has no name: nothing is left
        try:
            write_all(taken.fileno(), bytes(size + SPARE_BYTES))
            os.fsync(taken.fileno())
        except OSError:
            taken.close()
            raise
        return taken

    def _change(self, name: str, change: Callable[[list[Login]], list[Login]]) -> None:
        path = self.path(name)
        private_dir(self.folder, sync=True)
        with locked(self.folder / WRITE_LOCK):
            sweep(self.folder)  # what was left behind holds tokens
            data = msgspec.json.encode(_File(change(self.read(name))))
            write_private(
                path, encryption.encrypt(data, self._label(name)) if encryption.is_marked(self.folder) else data
            )

    def _delete(self, name: str) -> None:
        path = self.path(name)
        if path.exists():
            with locked(self.folder / WRITE_LOCK):
                sweep(self.folder)
                path.unlink(missing_ok=True)


def kept_secret(vault: Vault, given: str) -> str:
    """A reference to a secret the user gave: itself if it is one already, else where it is put."""
    return given if is_reference(given) else store_secret(vault, given)


def store_secret(vault: Vault, secret: str) -> str:
    """Store the text, and return a reference to it. One that looks like a reference is stored too, never followed."""
    if not secret:
        return ""
    name = hashlib.sha256(secret.encode()).hexdigest()[:32]
    if encryption.is_marked(vault.folder):
        encryption.keep(name, secret)
        return f"{SCHEME}keyring/{encryption.SERVICE}/{name}"
    path = private_dir(vault.folder / SECRETS, sync=True) / f"{name}.secret"
    write_private(path, secret.encode())
    return f"{SCHEME}file/{str(path).lstrip('/')}"


def delete_secret(vault: Vault, reference: str) -> None:
    """Delete what `store_secret` stored under this reference. Anything else is the user's, and stays."""
    place, _, name = reference.rpartition("/")
    if place == f"{SCHEME}file/{str(vault.folder / SECRETS).lstrip('/')}":
        (vault.folder / SECRETS / name).unlink(missing_ok=True)
    elif place == f"{SCHEME}keyring/{encryption.SERVICE}" and _STORED_NAME.fullmatch(name):
        encryption.drop(name)

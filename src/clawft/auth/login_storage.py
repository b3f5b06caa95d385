"""Changes how logins are kept, as plain private files or encrypted with a key of the keyring, and deletes them all.

What is written meanwhile already takes the new form; what is read is understood in both. So whoever is interrupted says
it again, and loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from clawft.auth import encryption
from clawft.auth.tokens import Login
from clawft.auth.vault import SECRETS, WRITE_LOCK, Vault, delete_secret, store_secret
from clawft.store.file_locks import locked
from clawft.store.private_files import private_dir, write_private
from clawft.store.secrets import SCHEME, resolve


def keep_in_keyring(root: Vault) -> int:
    """Encrypt all logins; returns how many names have some.

    Raises ExecutionFailed, before anything is touched, if there is no key.
    """
    private_dir(root.folder, sync=True)
    with locked(root.folder / ".store.lock"):
        encryption.make_key()
        with locked(root.folder / WRITE_LOCK):
            write_private(root.folder / encryption.MARK, b"")
        return _rewrite(root)


def keep_in_files(root: Vault) -> int:
    if not root.folder.is_dir():
        return 0
    with locked(root.folder / ".store.lock"):
        (root.folder / encryption.MARK).unlink(missing_ok=True)
        return _rewrite(root)


def drop_secrets(root: Vault, vault: Vault, forgotten: Iterable[Login]) -> None:
    """Client secrets that were put away in `vault` for these logins, and that no other needs.

    Raises ExecutionFailed if another cannot be read, and OSError: then they stay.
    """
    secrets = {login.client.secret for login in forgotten if login.client.secret}
    if not secrets:
        return
    others = [login for each in _all(root.folder) for name in each.names() for login in each.read(name)]
    for secret in secrets.difference(login.client.secret for login in others):
        delete_secret(vault, secret)


def _rewrite(root: Vault) -> int:
    count = 0
    for vault in _all(root.folder):
        for name in vault.names():
            vault.rewrite(name, lambda login, vault=vault: _moved(login, vault))
            count += 1
        if encryption.is_marked(root.folder):
            for left in (vault.folder / SECRETS).glob("*.secret"):  # in the keyring now, and named as there
                left.unlink()
    return count


def _all(folder: Path) -> Iterator[Vault]:
    """The vaults of providers, of servers, and of the people on a gateway."""
    yield from (Vault(folder), Vault(folder / "servers"))
    yield from (Vault(each) for each in sorted((folder / "people").glob("*")) if each.is_dir())


def _moved(login: Login, vault: Vault) -> Login:
    """With its client secret where the new form has it, if that is with us."""
    secret = login.client.secret
    ours = secret.startswith(
        (f"{SCHEME}file/{str(vault.folder).lstrip('/')}/", f"{SCHEME}keyring/{encryption.SERVICE}/")
    )
    if not ours:
        return login
    client = msgspec.structs.replace(login.client, secret=store_secret(vault, resolve(secret)))
    return msgspec.structs.replace(login, client=client)

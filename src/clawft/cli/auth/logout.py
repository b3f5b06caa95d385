"""`weft auth logout`: a login is forgotten, here and at the service."""

from __future__ import annotations

import asyncio
import os

from clawft.auth.login_storage import drop_secrets
from clawft.auth.revoke import revoke
from clawft.auth.tokens import Login
from clawft.auth.vault import Vault
from clawft.cli.auth.logins import find, holder, vault
from clawft.cli.main import begin_loop
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, tell
from clawft.config.places import ask_to_reconnect, home_folder
from clawft.errors import ClawftError, ExecutionFailed
from clawft.store.file_locks import held


def run(options: Options) -> int:
    try:
        where, logins = find(options.name)
    except ExecutionFailed:  # damaged, or encrypted with a key that is lost: it can still be forgotten
        where, logins = holder(options.name), []
    begin_loop(asyncio.run, _forget(where, options.name, logins))
    ask_to_reconnect(home_folder(), options.name)
    print(f"logged out: {options.name}")
    return 0


async def _forget(where: Vault, name: str, logins: list[Login]) -> None:
    """First here, so that nobody uses it any more; then there, as far as the server knows how (RFC 7009)."""
    lock = await held(where.lock(name))
    try:
        await where.delete(name)
    finally:
        os.close(lock)
    try:
        for login in logins:
            await _revoke(login)
    finally:  # a client that has a secret needs it to be heard there
        _drop_secrets(where, logins)


async def _revoke(login: Login) -> None:
    try:
        await revoke(login)
    except ClawftError as failed:  # out of reach, or a secret of the client's that is not there now
        tell(f"weft: the token is deleted here, but was not revoked at the service: {one_line(failed.message)}")


def _drop_secrets(where: Vault, logins: list[Login]) -> None:
    try:
        drop_secrets(vault(), where, logins)
    except (ClawftError, OSError) as failed:
        tell(f"weft: the token is deleted, but the secret of its client is still there: {one_line(str(failed))}")

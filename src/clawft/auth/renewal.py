"""Renewing a login exactly once, whichever processes ask for it, and without losing it if one of them is killed.

A server that rotates refresh tokens gives the new one out once and takes the whole login away if the old one is seen
again. So whoever renews holds a lock until the new token is on disk, and those who waited read it there. The renewal
itself runs in a small process of its own, which inherits the lock: if we are killed between the server's answer and
our disk, it finishes without us.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import time
from functools import partial
from typing import BinaryIO

import msgspec
from msgspec import Struct

from clawft.auth.background_renewal import PAUSE_SECONDS, BackgroundRenewals
from clawft.auth.endpoint import TokenRefused, ask_for_token, credentials_fields, refresh_fields, renewed
from clawft.auth.tokens import Login
from clawft.auth.vault import Vault
from clawft.auth.web import NotReached, Web
from clawft.errors import LoginFailed
from clawft.link.own_thread import run_in_own_thread
from clawft.store.file_locks import held
from clawft.store.private_files import private_dir

CALL_SECONDS = 20.0
"""How long a call waits for a renewal."""
ANSWER_SECONDS = 120.0
"""How long the server's answer is waited for, by then for those who come later: the old token may be spent."""
HELPER_SECONDS = ANSWER_SECONDS + 20.0
"""For the whole renewal."""
WAIT_SECONDS = HELPER_SECONDS + 20.0
"""How long to wait for another process that renews."""
FINAL_ERRORS = ("invalid_grant", "invalid_client", "unauthorized_client")
"""Errors of a server that no longer knows the login, or our client: only a new login helps."""


class RenewalFailure(Struct):
    """The failure that the helper process reports. Never a token."""

    error: str
    message: str
    reached: bool = True


class Renewal:
    """Gives valid logins, and renews those that are due."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self._running: dict[tuple[str, str, str], asyncio.Task[Login]] = {}
        self._unreached: dict[tuple[str, str], tuple[float, str]] = {}
        """When each authorization server failed to answer last, and the error."""
        self._background = BackgroundRenewals(self.renew)

    async def fresh(self, name: str, login: Login) -> Login:
        """The login as it is; if it is due, renewed: in the background while it is still valid, and awaited after that.

        Raises LoginFailed if a person is needed.
        """
        if not login.is_due(time.time()):
            return login
        if login.tokens.is_expired(margin=0):
            return await self._renew_unless_unreached(name, login)
        return self._background.newest(name, login) if login.renewable else login

    async def _renew_unless_unreached(self, name: str, login: Login) -> Login:
        """A server that did not answer is asked again after a while, and not with each request."""
        key = (name, digest_of(login))
        since, why = self._unreached.get(key, (float("-inf"), ""))
        if time.monotonic() - since < PAUSE_SECONDS:
            raise NotReached(why)
        try:
            renewed = await self.renew(name, login)
        except NotReached as failed:
            self._unreached[key] = time.monotonic(), failed.message
            raise
        self._unreached.pop(key, None)
        return renewed

    async def renew(self, name: str, seen: Login) -> Login:
        """A login newer than the one the caller has seen, renewed by us or by another process."""
        if not seen.renewable:
            raise _needs_person(name)
        key = (name, digest_of(seen), seen.tokens.access_token)
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.get_running_loop().create_task(self._renew(name, seen))
            task.add_done_callback(partial(self._ended, key))
        try:  # one caller who leaves does not take the others' renewal along
            return await asyncio.wait_for(asyncio.shield(task), CALL_SECONDS)
        except TimeoutError:
            raise _unanswered(name) from None

    def _ended(self, key: tuple[str, str, str], task: asyncio.Task[Login]) -> None:
        self._running.pop(key, None)
        if not task.cancelled():
            task.exception()  # there may be nobody left to be told

    @property
    def running(self) -> list[asyncio.Task[Login]]:
        return [task for task in (*self._background.tasks(), *self._running.values()) if not task.done()]

    async def close(self) -> None:
        """Nobody waits here any more; a helper that is under way finishes by itself."""
        left = self.running
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _renew(self, name: str, seen: Login) -> Login:
        private_dir(self.vault.folder)
        lock = await held(self.vault.lock(name), WAIT_SECONDS)
        try:
            login = await self._reread(name, seen)
            if login.tokens.access_token != seen.tokens.access_token and not login.tokens.is_expired(margin=0):
                return login
            await run_in_own_thread(
                partial(_run_helper, self.vault, name, login, lock), "renewal"
            )  # an issuer may be silent for long
            return await self._reread(name, seen)
        finally:
            os.close(lock)  # and not unlocked: a helper that outlives us still holds it

    async def _reread(self, name: str, seen: Login) -> Login:
        for login in await self.vault.load(name):
            if login.key == seen.key:
                return login
        raise LoginFailed(f"{name}: it was logged out in the meantime", hint=how_to_log_in(name))


def digest_of(login: Login) -> str:
    """Names a login on a command line without telling anything about it."""
    return hashlib.sha256(msgspec.json.encode(login.key)).hexdigest()[:32]


def how_to_log_in(name: str) -> str:
    return f"weft auth login {name}"


def _needs_person(name: str) -> LoginFailed:
    return LoginFailed(f"{name}: the login has expired and cannot be renewed", hint=how_to_log_in(name))


def _unanswered(name: str) -> NotReached:
    return NotReached(
        f"{name}: renewing the login takes more than {CALL_SECONDS:g} s",
        hint="it continues in the background; try again in a minute",
    )


# ── the helper ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _run_helper(vault: Vault, name: str, login: Login, lock: int) -> None:
    """Blocks the thread. Raises TokenRefused with the server's reason, LoginFailed for everything else."""
    if sys.platform == "win32":  # descriptors cannot be handed down there
        asyncio.run(renew_here(vault, name, digest_of(login)))
        return
    # -P: the folder we happen to be in must have no say in what is imported
    argv = [sys.executable, "-P", "-m", "clawft.auth.renewal_process", str(vault.folder), name, digest_of(login)]
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(lock,),
        start_new_session=True,  # what is aimed at us and our group must not hit it
        cwd=vault.folder,
    )
    try:
        output, _ = process.communicate(timeout=HELPER_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise LoginFailed(f"{name}: renewing the login took more than {HELPER_SECONDS:g} s") from None
    if process.returncode:
        raise _failure_of(name, output)


def _failure_of(name: str, said: bytes) -> LoginFailed:
    try:
        failure = msgspec.json.decode(said, type=RenewalFailure)
    except msgspec.DecodeError:
        return LoginFailed(f"{name}: the login could not be renewed", hint=how_to_log_in(name))
    if not failure.reached:
        return NotReached(f"{name}: {failure.message}")
    if failure.error:
        return TokenRefused(f"{name}: {failure.message}", error=failure.error, hint=how_to_log_in(name))
    return LoginFailed(f"{name}: {failure.message}", hint=how_to_log_in(name))


async def renew_here(vault: Vault, name: str, digest: str) -> None:
    """Ask for a new token and store it, in this process. The caller holds the lock of this name."""
    login = next((each for each in vault.read(name) if digest_of(each) == digest), None)
    if login is None:
        raise LoginFailed(f"{name}: it was logged out in the meantime")
    endpoint = login.server.token_endpoint
    if login.tokens.refresh_token:
        fields = refresh_fields(login.tokens, login.resource)
    else:
        fields = credentials_fields(login.asked, login.resource)
    # The place was judged when the login was made; from then on its certificate says whose it is.
    web = Web(lambda url, addresses: None, near=endpoint, seconds=ANSWER_SECONDS)
    try:
        with _room(vault, name):  # a token that is given once must not be asked for where it could not be kept
            token, _ = await ask_for_token(web, login.server, login.client, fields, login.tokens.provider_name)
    except TokenRefused as over:
        if over.error in FINAL_ERRORS:
            vault.rewrite(name, partial(_refused, digest))
        raise
    tokens = renewed(login.tokens, token)
    vault.write(name, msgspec.structs.replace(login, tokens=tokens, obtained_at=int(time.time()), refused=False))


def _refused(digest: str, login: Login) -> Login:
    """The login with the refusal noted. It is kept and tried again, as a server may be wrong; the next login takes its
    place.
    """
    return msgspec.structs.replace(login, refused=True) if digest_of(login) == digest else login


def _room(vault: Vault, name: str) -> BinaryIO:
    """On the disk, before the old token is spent. Raises NotReached if there is none: the login is still good."""
    try:
        return vault.room(name)
    except OSError as failed:
        raise NotReached(f"{vault.folder} has no room for a renewed login: {failed.strerror}") from None

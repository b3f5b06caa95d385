"""Logins made against the real provider, for tests about what happens to them afterwards."""

import asyncio
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from clawft.auth.discovery import find_server
from clawft.auth.flow import LoginFlow
from clawft.auth.interactive_logins import InteractiveLogins
from clawft.auth.tokens import Login, OAuthClient
from clawft.auth.vault import Vault
from clawft.auth.web import Web
from clawft.store.memory import MemoryStore
from tests.servers.idp import Idp, log_in

WEFT_SECONDS = 60.0
SCOPES = ("openid", "offline_access", "api.read")


def interactive_logins() -> InteractiveLogins:
    return InteractiveLogins(lambda near: Web(lambda url, addresses: None, near))


async def logged_in(
    provider: Idp,
    vault: Vault,
    name: str = "mine",
    resource: str = "",
    person: str = "ada",
    scopes: tuple[str, ...] = SCOPES,
) -> Login:
    """A login through the browser, stored."""
    at = interactive_logins()
    server = await find_server(at.make_web(provider.issuer), provider.issuer)

    def make(uri: str) -> LoginFlow:
        return LoginFlow(
            name,
            server,
            OAuthClient("native"),
            uri,
            scopes,
            resource=resource,
            hosts=("127.0.0.1",),
            near=provider.issuer,
            extra={"prompt": "consent"},
        )

    begun, finished = await at.begin_in_browser(MemoryStore(), vault, make)
    await log_in(begun.authorize_url, person=person)
    return await finished


def expire(vault: Vault, name: str = "mine", token_endpoint: str = "") -> Login:
    """As if its time were over; with another token endpoint if one is given. At once: somebody may be renewing it."""
    newest = vault.read(name)[0].key

    def expired(login: Login) -> Login:
        if login.key != newest:
            return login
        place = token_endpoint or login.server.token_endpoint
        return msgspec.structs.replace(
            login,
            tokens=msgspec.structs.replace(login.tokens, expires_at=1),
            server=msgspec.structs.replace(login.server, token_endpoint=place),
        )

    vault.rewrite(name, expired)
    return next(login for login in vault.read(name) if login.key == newest)


async def weft(home: Path, *words: str) -> asyncio.subprocess.Process:
    """The command, started."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "clawft",
        *words,
        env={**os.environ, "CLAWFT_HOME": str(home)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def weft_says(home: Path, *words: str) -> tuple[int | None, str]:
    """The command, run to its end."""
    process = await weft(home, *words)
    async with asyncio.timeout(WEFT_SECONDS):
        said, _ = await process.communicate()
    return process.returncode, said.decode()


def allow(home: Path, url: str) -> None:
    """Where it lies, in the user's own settings: no server on this machine may send us to another by its word alone."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(f'[security.url_policy]\nallow_hosts = ["{urlsplit(url).netloc}"]\n')

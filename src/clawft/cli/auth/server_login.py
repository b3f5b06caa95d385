"""A login at a configured server: it says itself where people log in."""

from __future__ import annotations

from clawft.auth.challenge import read_challenge
from clawft.auth.redirect_listener import RedirectListener
from clawft.auth.register import Identity
from clawft.auth.tokens import Login, OAuthClient
from clawft.auth.vault import Vault, kept_secret
from clawft.cli.auth.browser import LoginScreen
from clawft.cli.parser import Options
from clawft.cli.setup import settings
from clawft.config.places import home_folder
from clawft.errors import LoginFailed, NeedsAuth
from clawft.link.http_out.link import HttpLink
from clawft.provider.server.logins import ServerLogins
from clawft.store.secrets import resolve_all
from clawft.upstream.session.session import Session
from clawft.upstream.spec import UpstreamSpec


async def to_server(told: Options, spec: UpstreamSpec) -> Login:
    if spec.exchange is not None:
        raise LoginFailed(
            f"{spec.name} is called on behalf of the people on your gateway and needs no login here",
            hint="weft gateway",
        )
    logins = ServerLogins(home_folder(), settings(told).url_policy)
    receiver = RedirectListener()
    identity = Identity(_client(told, logins.vault), scopes=tuple(told.scope))
    interactive_logins = logins.with_browser(spec, identity, LoginScreen(receiver, told.no_browser, spec.url))
    try:
        return await interactive_logins.log_in(read_challenge(await _challenge(spec)))
    finally:
        await receiver.close()


def _client(told: Options, vault: Vault) -> OAuthClient | None:
    if not told.client_id:
        return None
    secret = kept_secret(vault, told.client_secret)
    return OAuthClient(told.client_id, secret, "client_secret_basic" if secret else "none")


async def _challenge(spec: UpstreamSpec) -> str:
    """The challenge that the server sends to somebody who is not logged in."""
    session = Session(HttpLink(spec.url, resolve_all(spec.headers)), _Deaf())
    try:
        await session.connect()
    except NeedsAuth as wanted:
        return wanted.challenge
    finally:
        await session.close()
    return ""  # it lets anybody in, but may want a login for its tools


class _Deaf:
    """Listens to a session that is opened only to be refused."""

    def on_notification(self, notification: object, stream: int | None) -> None:
        pass

    async def answer_request(self, request: object, stream: int | None) -> dict[str, object]:
        return {}

    def on_lost(self, error: object) -> None:
        pass

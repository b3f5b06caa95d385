"""The login to one MCP server: a header for each request, renewed before it expires, and what to do when it is refused.

Without somebody to send to a browser it says what is needed; with one it logs in by itself (protocol section 21).
"""

from __future__ import annotations

import shlex
import time
from typing import Protocol

from clawft.auth.challenge import Challenge, read_challenge
from clawft.auth.discovery import ProtectedResource, find_resource, find_server, same_issuer
from clawft.auth.endpoint import TokenRefused
from clawft.auth.flow import AuthorizationResponse, LoginFlow, begin, finish
from clawft.auth.register import Identity, find_client
from clawft.auth.renewal import Renewal
from clawft.auth.tokens import AuthServer, Login, OAuthClient
from clawft.auth.web import MakeWeb, NotReached
from clawft.errors import LinkError, LinkRefused, LoginFailed, NeedsAuth
from clawft.store.base import KeyValueStore
from clawft.store.memory import MemoryStore
from clawft.wire.secrets import mask_url

MAX_STEPS = 2
"""How often one link may ask for further scopes before a refusal is final."""
REFUSED_SECONDS = 60.0
"""So long a token that was renewed for a server, and is refused by it all the same, is not renewed again."""
OFFLINE = "offline_access"


class Browser(Protocol):
    """Whoever can bring a person to an address and hears what comes back."""

    async def redirect_uri(self) -> str: ...

    async def visit(self, url: str, state: str) -> AuthorizationResponse: ...


class ServerLogin:
    """As `link.base.Credentials`. The renewal works on the vault of servers."""

    def __init__(
        self,
        name: str,
        url: str,
        renewal: Renewal,
        make_web: MakeWeb,
        *,
        identity: Identity = Identity(),  # noqa: B008 - frozen
        browser: Browser | None = None,
        store: KeyValueStore | None = None,
    ) -> None:
        self.name = name
        self.url = url
        self._shown = mask_url(url)
        self._renewal = renewal
        self._make_web = make_web
        self._identity = identity
        self._browser = browser
        self._store = store or MemoryStore()
        self._login: Login | None = None
        self._looked = False
        self._steps = 0
        self._renewed = ("", 0.0)
        """The header we had renewed because the one before was refused, and when."""

    # ── a header for each request ────────────────────────────────────────────────────────────────────────────────────

    def ready(self) -> str | None:
        """The header if it can be had at once; None if somebody has to wait for it."""
        login = self._login
        if login is None:
            return "" if self._looked else None
        return None if login.is_due(time.time()) else login.tokens.authorization

    async def authorization(self) -> str:
        """The header, renewed if due; empty if nobody has logged in."""
        if self._login is None:
            self._login = await self._stored()
            self._looked = True
        if self._login is None:
            return ""
        try:
            self._login = await self._renewal.fresh(self.name, self._login)
        except LoginFailed as failed:
            self._login = await self._stored()  # somebody else may have logged in
            if self._login is None or self._login.is_due(time.time()):
                raise self._without_header(failed) from None
        return self._login.tokens.authorization

    async def _stored(self) -> Login | None:
        """The newest login for this very address: a token is for the server it was made for."""
        logins = await self._renewal.vault.load(self.name)
        return next((login for login in logins if login.hosts == (self.url,)), None)

    # ── a refusal ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def challenged(self, status: int, header: str, sent: str) -> bool:
        """True if another try, with a new header, makes sense. Raises NeedsAuth if a person has to log in first."""
        challenge = read_challenge(header)
        if status == 403 and (not challenge.wants_scopes or (self._browser and self._steps >= MAX_STEPS)):
            return False
        stored = await self._stored()
        if status == 401 and stored is not None and stored.tokens.authorization != sent:
            self._login = stored
            return True
        if status == 403:
            self._steps += 1
            self._check_steps(challenge)
        try:
            self._login = await self._better(status, challenge, stored)
        except NotReached as failed:
            raise self._without_header(failed) from None
        except LoginFailed as failed:
            raise self._needs_auth(failed.message, header, failed.hint, passing=not sent) from None
        return True

    def _check_steps(self, challenge: Challenge) -> None:
        """Further rights for one call need a person. Without one that call fails, and the others go on."""
        if self._browser is None:
            scopes = " ".join(f"--scope {shlex.quote(scope)}" for scope in challenge.scopes)  # a server wrote them
            raise LinkRefused(
                f"{self._shown} requires further scopes: {' '.join(challenge.scopes)}",
                http_status=403,
                hint=f"weft auth login {self.name} {scopes}".strip(),
            )

    async def _better(self, status: int, challenge: Challenge, stored: Login | None) -> Login:
        """A login that may be taken: renewed where that is enough, else a new one."""
        if stored is None and self._browser is None:
            raise LoginFailed(f"{self._shown} needs a login")
        web = self._make_web(self.url)
        protected = await find_resource(web, self.url, challenge)
        # a guess is no reason to leave the issuer that gave the login: a server may only be silent for a moment
        same = stored is not None and (protected.guessed or same_issuer(stored.server.issuer, protected.issuer))
        if status == 401 and stored is not None and same and stored.renewable and not self._just_renewed(stored):
            try:
                return await self._renew(stored)
            except TokenRefused:
                if self._browser is None:
                    raise
        if self._browser is None:
            raise LoginFailed(f"{self._shown} needs a new login")
        had = stored.asked if stored is not None and same else ()
        return await self.log_in(challenge, protected, had)

    async def _renew(self, stored: Login) -> Login:
        login = await self._renewal.renew(self.name, stored)
        self._renewed = login.tokens.authorization, time.monotonic()
        return login

    def _just_renewed(self, refused: Login) -> bool:
        """A server that refuses a token that was just renewed for it will refuse the next one too."""
        header, since = self._renewed
        return refused.tokens.authorization == header and time.monotonic() - since < REFUSED_SECONDS

    def _without_header(self, failed: LoginFailed) -> LinkError:
        """Why there is none: a person has to log in, or the authorization server is not there at the moment."""
        if isinstance(failed, NotReached):
            return LinkRefused(f"the login to {self._shown} cannot be renewed now: {failed.message}", http_status=503)
        return self._needs_auth(str(failed))

    def _needs_auth(self, why: str, challenge: str = "", hint: str = "", *, passing: bool = False) -> NeedsAuth:
        return NeedsAuth(why, challenge=challenge, hint=hint or f"weft auth login {self.name}", passing=passing)

    # ── logging in ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def log_in(
        self, challenge: Challenge, protected: ProtectedResource | None = None, had: tuple[str, ...] = ()
    ) -> Login:
        """Through the browser, from the challenge to the stored token."""
        browser = self._browser
        if browser is None:
            raise LoginFailed(f"{self.name}: nobody is present to log in", hint=f"weft auth login {self.name}")
        flow = await self.prepare(challenge, await browser.redirect_uri(), protected, had)
        begun = await begin(self._store, flow)
        returned = await browser.visit(begun.authorize_url, begun.state)
        if returned.state != begun.state:
            raise LoginFailed(f"{self.name}: the answer belongs to another login")
        return await self.finish(returned)

    async def prepare(
        self,
        challenge: Challenge,
        redirect_uri: str,
        protected: ProtectedResource | None = None,
        had: tuple[str, ...] = (),
    ) -> LoginFlow:
        """Find out where and as whom to log in; nothing is begun yet."""
        web = self._make_web(self.url)
        protected = protected or await find_resource(web, self.url, challenge)
        server = await find_server(web, protected.issuer)
        scopes = scopes_for(self._identity.scopes, had, challenge, protected, server)
        vault, scope = self._renewal.vault, " ".join(scopes)
        client = await self._known_client(server, redirect_uri) or await find_client(
            web, server, vault, self._identity, redirect_uri=redirect_uri, scope=scope
        )
        return LoginFlow(
            self.name,
            server,
            client,
            redirect_uri,
            scopes,
            resource=protected.resource,
            hosts=(self.url,),
            near=self.url,
        )

    async def _known_client(self, server: AuthServer, redirect_uri: str) -> OAuthClient | None:
        """The one we are already, at this very issuer. Another issuer never sees it."""
        if self._identity.given is not None:
            return None
        logins = await self._renewal.vault.load(self.name)
        known = (each.client for each in logins if each.server.issuer == server.issuer)
        return next((client for client in known if client.redirect_uri in ("", redirect_uri)), None)

    async def finish(self, returned: AuthorizationResponse) -> Login:
        name, login = await finish(self._store, self._make_web, returned)
        await self._renewal.vault.save(name, login)
        self._login, self._looked = login, True
        return login


def scopes_for(
    wanted: tuple[str, ...],
    had: tuple[str, ...],
    challenge: Challenge,
    protected: ProtectedResource,
    server: AuthServer,
) -> tuple[str, ...]:
    """The scopes that the challenge asks for, else those of the server; those we had stay, and a login that lasts is
    asked for if offered.
    """
    base = (*wanted, *had, *(challenge.scopes or protected.scopes))
    lasting = (OFFLINE,) if OFFLINE in server.scopes_supported else ()
    return tuple(dict.fromkeys((*base, *lasting)))

"""Logins in a person's name: the token they came with, exchanged for one that a server takes (RFC 8693).

Their own token goes to nobody but the issuer it came from. What is given for it lives in memory, belongs to one person
at one server, and is exchanged anew before it expires.
"""

from __future__ import annotations

import asyncio
import time

import msgspec
from msgspec import Struct

from clawft.auth.discovery import find_server
from clawft.auth.endpoint import ACCESS_TOKEN, ask_for_token, exchange_fields
from clawft.auth.proofs import Proofs
from clawft.auth.tokens import AuthServer, Login, OAuthClient
from clawft.auth.web import Web
from clawft.errors import LoginFailed, NeedsAuth

METADATA_SECONDS = 3_600.0
UNTOLD_LIFETIME_S = 300
"""For a token that does not say how long it lives."""
REFUSED_SECONDS = 60.0
"""A server that refuses two tokens within this time will refuse a third."""
PAUSE_SECONDS = 10.0
"""After an exchange that failed, while the token from the one before is still good."""


class ExchangeTerms(Struct, frozen=True):
    """The demands of a server on the tokens it takes, and our identity towards the issuer."""

    client_id: str
    client_secret: str = ""
    audience: str = ""
    resource: str = ""
    scopes: tuple[str, ...] = ()


class Exchanger:
    """At one issuer, for all people and servers."""

    def __init__(self, issuer: str, web: Web, proofs: Proofs) -> None:
        self.issuer = issuer
        self._web = web
        self._proofs = proofs
        self._server = AuthServer()
        self._asked_at = float("-inf")

    async def exchange(self, name: str, wanted: ExchangeTerms, proof: str) -> Login:
        """Raises LoginFailed if there is nothing to exchange, TokenRefused with the issuer's reason."""
        token = self._proofs.token(proof)
        if not token:
            raise LoginFailed(f"your token is no longer available: call {name} with a new one")
        server = await self._find()
        client = OAuthClient(wanted.client_id, wanted.client_secret, _method(wanted, server))
        fields = exchange_fields(token, wanted.audience, wanted.resource, wanted.scopes)
        given, answer = await ask_for_token(self._web, server, client, fields, name)
        if answer.get("issued_token_type", ACCESS_TOKEN) != ACCESS_TOKEN or given.token_type.lower() == "n_a":
            raise LoginFailed(f"{self.issuer} returned something other than an access token for {name}")
        if given.access_token == token:
            raise LoginFailed(f"{self.issuer} gave the same token back: it is not meant for {name}, and not sent there")
        now = int(time.time())
        if given.expires_at is None:
            given = msgspec.structs.replace(given, expires_at=now + UNTOLD_LIFETIME_S)
        return Login(given, server, client, obtained_at=now, flow="token_exchange")

    async def _find(self) -> AuthServer:
        now = time.monotonic()
        if now - self._asked_at > METADATA_SECONDS:
            self._server = await find_server(self._web, self.issuer, "program")
            self._asked_at = now
        return self._server


def _method(wanted: ExchangeTerms, server: AuthServer) -> str:
    """Nothing said means basic (RFC 8414)."""
    if not wanted.client_secret:
        return "none"
    basic = not server.methods_supported or "client_secret_basic" in server.methods_supported
    return "client_secret_basic" if basic else "client_secret_post"


class ExchangedLogin:
    """One person at one server. As `link.base.Credentials`."""

    def __init__(self, name: str, exchanger: Exchanger, wanted: ExchangeTerms, proof: str) -> None:
        self._name = name
        self._exchanger = exchanger
        self._wanted = wanted
        self._proof = proof
        self._login: Login | None = None
        self._running: asyncio.Task[Login] | None = None
        self._failed_at = self._refused_at = float("-inf")
        self._refused = ""

    def ready(self) -> str | None:
        login, now = self._login, time.time()
        if login is None or login.tokens.is_expired(now, 0):
            return None
        pausing = time.monotonic() - self._failed_at < PAUSE_SECONDS
        return login.tokens.authorization if pausing or not login.is_due(now) else None

    async def authorization(self) -> str:
        """The header, exchanged anew if due. Raises NeedsAuth, saying why there is none."""
        try:
            return (await self._fresh()).tokens.authorization
        except LoginFailed as failed:
            login = self._login
            if login is not None and not login.tokens.is_expired(margin=0):
                return login.tokens.authorization  # due, but still good
            raise NeedsAuth(failed.message, hint=failed.hint) from None

    async def _fresh(self) -> Login:
        """Whoever comes while an exchange is under way waits for that one, unless what there is is still good."""
        login = self._login
        if login is not None and not login.is_due(time.time()):
            return login
        if self._running is None:
            exchange = self._exchanger.exchange(self._name, self._wanted, self._proof)
            self._running = asyncio.get_running_loop().create_task(exchange)
            self._running.add_done_callback(self._done)
        if login is not None and not login.tokens.is_expired(margin=0):
            return login
        return await asyncio.shield(self._running)

    def _done(self, task: asyncio.Task[Login]) -> None:
        self._running = None
        if task.cancelled() or task.exception() is not None:
            self._failed_at = time.monotonic()
        else:
            self._login = task.result()

    async def challenged(self, status: int, header: str, sent: str) -> bool:
        """A refused token is exchanged for another once; rights that are missing are for the issuer to give."""
        login = self._login
        if status != 401:
            return False
        if sent == self._refused if login is None else sent != login.tokens.authorization:
            return True  # another request was refused with it before
        now = time.monotonic()
        again = now - self._refused_at < REFUSED_SECONDS
        self._login, self._refused, self._refused_at = None, sent, now
        if again:
            raise NeedsAuth(
                f"{self._name} refuses the tokens that {self._exchanger.issuer} gives for it",
                hint=f"check audience, resource and scopes of its exchange in mcp_servers.{self._name}",
            )
        return True

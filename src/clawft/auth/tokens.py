"""A token and everything that must be kept with it to renew it. Secrets never show in a repr."""

from __future__ import annotations

import time

from msgspec import Struct

from clawft.store.concealed_secrets import keep_concealed_for_now

MARGIN_S = 60
"""How long before its end a token counts as expired: what is sent must still be good when it arrives."""


class TokenSet(Struct, frozen=True, omit_defaults=True):
    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - the name of a kind of token
    refresh_token: str | None = None
    expires_at: int | None = None
    """Unix seconds."""
    scopes: tuple[str, ...] = ()
    provider_name: str = ""

    def is_expired(self, now: float | None = None, margin: float = MARGIN_S) -> bool:
        if self.expires_at is None:
            return False
        return (time.time() if now is None else now) >= self.expires_at - margin

    @property
    def authorization(self) -> str:
        """The header, in the one spelling every server takes."""
        scheme = "Bearer" if self.token_type.lower() == "bearer" else self.token_type
        return f"{scheme} {self.access_token}"

    def conceal(self) -> None:
        """From now on nobody is told them, whoever repeats them to us: see `store.concealed_secrets`."""
        keep_concealed_for_now(self.access_token, self.refresh_token or "")

    def __repr__(self) -> str:
        return f"TokenSet(provider_name={self.provider_name!r}, expires_at={self.expires_at}, scopes={self.scopes})"


class OAuthClient(Struct, frozen=True, omit_defaults=True):
    """Our identity towards an authorization server. `secret` is a `secret://` reference, never the secret."""

    client_id: str
    secret: str = ""
    method: str = "none"
    """none, client_secret_basic or client_secret_post."""
    origin: str = "given"
    """given, document (a client id that is a URL) or registered."""
    redirect_uri: str = ""
    """The address a registered client was registered for; many servers take it back to the letter only."""


class AuthServer(Struct, frozen=True, omit_defaults=True):
    """Where an authorization server is asked, as its metadata or a preset says."""

    issuer: str = ""
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    registration_endpoint: str = ""
    revocation_endpoint: str = ""
    device_authorization_endpoint: str = ""
    scopes_supported: tuple[str, ...] = ()
    methods_supported: tuple[str, ...] = ()
    """How a client may prove who it is at the token endpoint."""
    takes_documents: bool = False
    """Whether a client id may be the URL of a document."""
    sends_iss: bool = False
    """Whether every answer to an authorization request names the issuer (RFC 9207)."""


class Login(Struct, frozen=True, omit_defaults=True):
    """One login: the token, whom it is for, and what renews it. All of it survives a restart."""

    tokens: TokenSet
    server: AuthServer = AuthServer()
    client: OAuthClient = OAuthClient("")
    account: str = ""
    resource: str = ""
    """The server the token is for (RFC 8707)."""
    hosts: tuple[str, ...] = ()
    """Where the token may be sent."""
    obtained_at: int = 0
    asked: tuple[str, ...] = ()
    """The scopes that were asked for; a server may have granted fewer."""
    flow: str = "authorization_code"
    refused: bool = False
    """Whether its server has said that it is over."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Two logins are the same if these agree."""
        return self.server.issuer or self.server.token_endpoint, self.client.client_id, self.account, self.resource

    def ends(self, other: Login) -> bool:
        """Whether nobody misses the other, now that there is this one: it was refused, and led to the same place."""
        return other.key == self.key or (other.refused and other.hosts == self.hosts)

    def is_due(self, now: float) -> bool:
        """Time to renew: a minute before the end, or halfway for a token that lives shorter than two."""
        if self.tokens.expires_at is None:
            return False
        lifetime = self.tokens.expires_at - self.obtained_at if self.obtained_at else 2 * MARGIN_S
        return self.tokens.is_expired(now, min(MARGIN_S, max(lifetime / 2, 0)))

    @property
    def renewable(self) -> bool:
        """Whether it can be renewed without a person."""
        return bool(self.server.token_endpoint) and (
            bool(self.tokens.refresh_token) or self.flow == "client_credentials"
        )

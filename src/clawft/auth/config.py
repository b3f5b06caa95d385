"""A provider as somebody describes it: a preset's name, or the addresses themselves; and who we are to it."""

from __future__ import annotations

from msgspec import Struct

from clawft.auth.flow import LoginFlow
from clawft.auth.presets import PRESETS
from clawft.auth.token_hosts import place_in
from clawft.auth.tokens import AuthServer, OAuthClient
from clawft.auth.vault import Vault, check_name, kept_secret
from clawft.auth.web import check_place
from clawft.errors import InvalidArguments, LoginFailed


class SecretText:
    """A text that shows itself to nobody who does not ask: no repr, no JSON."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "SecretText(…)"


class OAuth2Config(Struct, frozen=True):
    provider_name: str
    client_id: str
    client_secret: SecretText
    auth_url: str
    token_url: str
    redirect_uri: str | None = None
    scopes: tuple[str, ...] = ()

    @property
    def server(self) -> AuthServer:
        """The preset's, or one we know only two addresses of."""
        known = PRESETS[self.provider_name].server if self.provider_name in PRESETS else AuthServer()
        if (known.authorization_endpoint, known.token_endpoint) == (self.auth_url, self.token_url):
            return known
        return AuthServer(authorization_endpoint=self.auth_url, token_endpoint=self.token_url)


def build_config(
    provider: str,
    client_id: str,
    client_secret: str,
    scopes: tuple[str, ...] = (),
    *,
    redirect_uri: str | None = None,
    auth_url: str | None = None,
    token_url: str | None = None,
) -> OAuth2Config:
    """Raises InvalidArguments that names what is missing or malformed."""
    preset = PRESETS.get(check_name(provider), PRESETS["generic"])
    places = {
        "auth_url": auth_url or preset.server.authorization_endpoint,
        "token_url": token_url or preset.server.token_endpoint,
    }
    for name, place in places.items():
        if not place:
            raise InvalidArguments(f"{name} is missing; the provider {provider!r} has none of its own")
        _check(name, place)
    if redirect_uri:
        _check("redirect_uri", redirect_uri)
    if not client_id:
        raise InvalidArguments("client_id is empty")
    return OAuth2Config(
        provider, client_id, SecretText(client_secret), **places, redirect_uri=redirect_uri, scopes=scopes
    )


def _check(name: str, place: str) -> None:
    try:
        check_place(place, near=place)
    except LoginFailed as wrong:
        raise InvalidArguments(f"{name}: {wrong.message}") from None


def client_of(config: OAuth2Config, vault: Vault, server: AuthServer) -> OAuthClient:
    """The secret goes into the store, and from here on only its reference is known."""
    secret = kept_secret(vault, config.client_secret.reveal())
    if not secret:
        return OAuthClient(config.client_id)
    method = PRESETS.get(config.provider_name, PRESETS["generic"]).method
    offered = [each for each in ("client_secret_basic", "client_secret_post") if each in server.methods_supported]
    return OAuthClient(config.client_id, secret, method if method in offered or not offered else offered[0])


def hosts_of(provider: str, server: AuthServer) -> tuple[str, ...]:
    """Where a token may go: what the preset says, else the hosts that gave it. An agent may have named the others."""
    preset = PRESETS.get(provider)
    if preset is not None and preset.hosts:
        return preset.hosts
    named = server.authorization_endpoint if server.issuer else ""  # by the issuer itself
    places = (server.issuer, named, server.token_endpoint)
    return tuple(dict.fromkeys(host for place in places if (host := place_in(place))))


def flow_of(
    config: OAuth2Config,
    vault: Vault,
    redirect_uri: str,
    *,
    server: AuthServer | None = None,
    resource: str = "",
    account: str = "",
    hosts: tuple[str, ...] = (),
) -> LoginFlow:
    """`server`: its metadata, where it was asked for."""
    found = server or config.server
    preset = PRESETS.get(config.provider_name, PRESETS["generic"])
    return LoginFlow(
        config.provider_name,
        found,
        client_of(config, vault, found),
        redirect_uri,
        config.scopes,
        resource=resource,
        account=account,
        hosts=tuple(dict.fromkeys((*hosts_of(config.provider_name, found), *hosts))),
        near=found.token_endpoint,
        extra=preset.extra,
    )

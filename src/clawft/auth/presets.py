"""Providers whose places everybody needs, so that nobody has to look them up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from clawft.auth.tokens import AuthServer

ProviderName = Literal["google", "microsoft", "github", "generic"]


class Preset(Struct, frozen=True):
    server: AuthServer = AuthServer()
    hosts: tuple[str, ...] = ()
    """Where tokens of this provider are meant to be sent."""
    extra: Mapping[str, str] = {}
    """Further parameters that its authorization request needs."""
    method: str = "client_secret_post"


PRESETS: Mapping[str, Preset] = {
    "google": Preset(
        AuthServer(
            issuer="https://accounts.google.com",
            authorization_endpoint="https://accounts.google.com/o/oauth2/v2/auth",
            token_endpoint="https://oauth2.googleapis.com/token",  # noqa: S106 - an address
            revocation_endpoint="https://oauth2.googleapis.com/revoke",
            device_authorization_endpoint="https://oauth2.googleapis.com/device/code",
        ),
        hosts=("*.googleapis.com",),
        extra={"access_type": "offline", "prompt": "consent"},
    ),
    "microsoft": Preset(
        AuthServer(
            authorization_endpoint="https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
            token_endpoint="https://login.microsoftonline.com/common/oauth2/v2.0/token",  # noqa: S106 - an address
            device_authorization_endpoint="https://login.microsoftonline.com/common/oauth2/v2.0/devicecode",
        ),
        hosts=("graph.microsoft.com", "management.azure.com", "dev.azure.com", "*.sharepoint.com", "*.office.com"),
    ),
    "github": Preset(
        AuthServer(
            authorization_endpoint="https://github.com/login/oauth/authorize",
            token_endpoint="https://github.com/login/oauth/access_token",  # noqa: S106 - an address
            device_authorization_endpoint="https://github.com/login/device/code",
        ),
        hosts=("api.github.com", "uploads.github.com"),
    ),
    "generic": Preset(method="client_secret_basic"),
}

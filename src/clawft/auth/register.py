"""Finds the client we are to an authorization server: one given to us, a document of ours, or one registered now."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from clawft.auth.tokens import AuthServer, OAuthClient
from clawft.auth.vault import Vault, store_secret
from clawft.auth.web import Web, place_of
from clawft.errors import LoginFailed

CLIENT_NAME = "clawft"
KNOWN_METHODS = ("client_secret_basic", "client_secret_post", "none")

MAX_CHARS = 2_048
"""Of an id or a secret; an id is part of an address."""

_WRITABLE = re.compile(rf"[\x20-\x7e]{{1,{MAX_CHARS}}}")
"""As RFC 6749 spells them (appendices A.1 and A.2)."""


class Identity(Struct, frozen=True):
    """Our identity towards authorization servers, if somebody has decided that already."""

    given: OAuthClient | None = None
    document: str = ""
    """The https address of our client document, where we have one."""
    scopes: tuple[str, ...] = ()
    """Asked for in any case."""


async def find_client(
    web: Web, server: AuthServer, vault: Vault, identity: Identity, *, redirect_uri: str, scope: str
) -> OAuthClient:
    """Given, else by document where the server takes one, else registered (RFC 7591)."""
    if identity.given is not None:
        return identity.given
    if identity.document and server.takes_documents and is_document(identity.document):
        return OAuthClient(identity.document, origin="document")
    if server.registration_endpoint:
        return await _register(web, server, vault, redirect_uri, scope)
    raise LoginFailed(
        f"{place_of(server.issuer)} accepts registered clients only",
        hint="register one there, then: weft auth login NAME --client-id ID",
    )


def is_document(url: str) -> bool:
    """The address of a client document: https, with a path."""
    parts = urlsplit(url)
    return parts.scheme == "https" and parts.path not in ("", "/") and not parts.fragment


async def _register(web: Web, server: AuthServer, vault: Vault, redirect_uri: str, scope: str) -> OAuthClient:
    wanted = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method_for(server.methods_supported),
        "application_type": "native",
        **({"scope": scope} if scope else {}),
    }
    answer = await web.post_json(server.registration_endpoint, wanted)
    client_id = answer.text("client_id")
    if answer.status not in (200, 201) or not client_id:
        raise LoginFailed(f"{place_of(server.registration_endpoint)} does not register us: {answer.reason}")
    secret = answer.text("client_secret")
    if not _WRITABLE.fullmatch(client_id) or not _WRITABLE.fullmatch(secret or client_id):
        raise LoginFailed(f"{place_of(server.registration_endpoint)} returns an invalid client id or secret")
    method = answer.text("token_endpoint_auth_method") or str(wanted["token_endpoint_auth_method"])
    if method not in KNOWN_METHODS or (method == "none" and secret and "none" not in server.methods_supported):
        method = "client_secret_basic"
    return OAuthClient(client_id, store_secret(vault, secret), method if secret else "none", "registered", redirect_uri)


def method_for(supported: Sequence[str]) -> str:
    """A native program keeps no secret well, so none where that is offered; nothing said means basic (RFC 8414)."""
    for method in ("none", "client_secret_basic", "client_secret_post"):
        if method in supported:
            return method
    return "client_secret_basic"

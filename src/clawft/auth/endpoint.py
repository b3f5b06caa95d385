"""The token endpoint: one form post, one token. How the client proves itself, and what an answer must have."""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus

import msgspec

from clawft.auth.challenge import read_scopes
from clawft.auth.tokens import AuthServer, OAuthClient, TokenSet
from clawft.auth.web import NotReached, Web, WebAnswer, brief, place_of
from clawft.errors import LoginFailed
from clawft.store.concealed_secrets import keep_concealed
from clawft.store.secrets import is_reference, resolve

EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a kind of token
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
MAX_LIFETIME_S = 10 * 365 * 24 * 3600
MAX_TOKEN_CHARS = 16_384
"""Few servers take a longer header. We keep many tokens in mind, each in all its spellings."""
NOT_NOW = 500
TOO_MANY = 429
"""From 500 on, and with 429, a status says nothing of what was asked for."""
DETAIL_CHARS = 300
ADDRESS = "is this the address of a token endpoint?"
_IN_A_HEADER = re.compile(r"[\x21-\x7e]+")
SHORTEST_HIDDEN = 8
"""Of what we have sent and a server repeats; a shorter text would be found in half of all words."""


class TokenRefused(LoginFailed):
    """The authorization server said no. `error` is its word for it: `invalid_grant`, `authorization_pending` …"""

    def __init__(self, message: str, *, error: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.error = error


async def ask_for_token(
    web: Web, server: AuthServer, client: OAuthClient, fields: Mapping[str, str], provider: str
) -> tuple[TokenSet, Mapping[str, Any]]:
    """The token and all that was said with it. Raises TokenRefused with the server's reason."""
    proof, headers = await proof_of(client)
    answer = await web.post_form(server.token_endpoint, {**fields, **proof}, headers)
    if answer.status >= NOT_NOW or answer.status == TOO_MANY:
        raise NotReached(f"{place_of(server.token_endpoint)} answered with status {answer.status}")
    if answer.status != 200 or not answer.text("access_token"):
        raise _refused(server, answer, fields)
    token = read_token(answer.told, fields.get("scope", "").split(), provider, time.time())
    token.conceal()
    return token, answer.told


async def proof_of(client: OAuthClient) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The proof of our identity: in the form, or in a header."""
    if client.method == "none" or not client.secret:
        return {"client_id": client.client_id}, {}
    secret = await _secret(client)
    keep_concealed(secret)
    if client.method == "client_secret_basic":
        pair = base64.b64encode(f"{quote_plus(client.client_id)}:{quote_plus(secret)}".encode()).decode()
        keep_concealed(pair)
        return {}, {"Authorization": f"Basic {pair}"}
    return {"client_id": client.client_id, "client_secret": secret}, {}


async def _secret(client: OAuthClient) -> str:
    """A reference may have to start a program: not on the loop."""
    return await asyncio.to_thread(resolve, client.secret) if is_reference(client.secret) else client.secret


def read_token(told: Mapping[str, Any], asked: Sequence[str], provider: str, now: float) -> TokenSet:
    scope = told.get("scope")
    lifetime = _seconds(told.get("expires_in"))
    refresh, kind = told.get("refresh_token"), told.get("token_type")
    token, kind = str(told["access_token"]), kind if isinstance(kind, str) and kind else "Bearer"
    if not _IN_A_HEADER.fullmatch(kind + token) or len(token) > MAX_TOKEN_CHARS:
        raise LoginFailed(f"{provider}: no header can carry the token that was given")
    if kind.lower() != "bearer":  # RFC 6749, 7.1: what is not understood must not be used
        raise LoginFailed(f"{provider}: the token is not an access token for a Bearer header: {kind[:50]}")
    if isinstance(refresh, str) and len(refresh) > MAX_TOKEN_CHARS:
        raise LoginFailed(f"{provider}: the refresh token that was given is longer than {MAX_TOKEN_CHARS} characters")
    return TokenSet(
        access_token=token,
        token_type=kind,
        refresh_token=refresh if isinstance(refresh, str) and refresh else None,
        expires_at=None if lifetime is None else int(now + lifetime),
        scopes=read_scopes(scope) if isinstance(scope, str) and scope else tuple(asked),
        provider_name=provider,
    )


def _seconds(value: object) -> float | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():  # some say it in quotes
        value = float(value)
    return value if isinstance(value, int | float) and 0 < value <= MAX_LIFETIME_S else None


def _refused(server: AuthServer, answer: WebAnswer, fields: Mapping[str, str]) -> TokenRefused:
    """In its words, but never with what we have sent: a server may repeat it."""
    error, detail = answer.text("error"), answer.text("error_description")
    for secret in fields.values():
        if len(secret) >= SHORTEST_HIDDEN:
            error, detail = error.replace(secret, "…"), detail.replace(secret, "…")
    error, detail = brief(error, DETAIL_CHARS), brief(detail, DETAIL_CHARS)
    place = place_of(server.token_endpoint)
    if answer.status == 200 and not error:
        return TokenRefused(f"{place} gave no token: its response contains none", error="", hint=ADDRESS)
    reason = ": ".join(filter(None, (error or f"status {answer.status}", detail)))
    return TokenRefused(f"{place} gave no token: {reason}", error=error)


# ── the grants ───────────────────────────────────────────────────────────────────────────────────────────────────────


def code_fields(code: str, redirect_uri: str, verifier: str, resource: str) -> dict[str, str]:
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    return _with({**fields, "code_verifier": verifier}, resource=resource)


def refresh_fields(token: TokenSet, resource: str) -> dict[str, str]:
    return _with({"grant_type": "refresh_token", "refresh_token": token.refresh_token or ""}, resource=resource)


def credentials_fields(scopes: Sequence[str], resource: str) -> dict[str, str]:
    return _with({"grant_type": "client_credentials"}, scope=" ".join(scopes), resource=resource)


def device_fields(device_code: str, resource: str) -> dict[str, str]:
    return _with({"grant_type": DEVICE_GRANT, "device_code": device_code}, resource=resource)


def exchange_fields(token: str, audience: str, resource: str, scopes: Sequence[str]) -> dict[str, str]:
    fields = {
        "grant_type": EXCHANGE_GRANT,
        "subject_token": token,
        "subject_token_type": ACCESS_TOKEN,
        "requested_token_type": ACCESS_TOKEN,
    }
    return _with(fields, audience=audience, resource=resource, scope=" ".join(scopes))


def _with(fields: dict[str, str], **more: str) -> dict[str, str]:
    return {**fields, **{name: value for name, value in more.items() if value}}


def renewed(old: TokenSet, new: TokenSet) -> TokenSet:
    """A server that sends no new refresh token means us to keep the old one."""
    return msgspec.structs.replace(
        new, refresh_token=new.refresh_token or old.refresh_token, scopes=new.scopes or old.scopes
    )

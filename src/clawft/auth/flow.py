"""An authorization request and its answer: begun once, finished once, by whoever holds the state.

What is needed to finish waits in a key-value store under `oauth2_pkce_<state>`, for ten minutes at most, and is taken
out before the code is exchanged: a second answer with the same state finds nothing.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from clawft.auth.endpoint import ask_for_token, code_fields
from clawft.auth.pkce import challenge_of, new_state, new_verifier
from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.web import MakeWeb, brief
from clawft.errors import LoginFailed
from clawft.store.base import KeyValueStore

LIFETIME_S = 600
PREFIX = "oauth2_pkce_"
MAX_ANSWER = 8_192
SAID_CHARS = 200
MAX_ACCOUNT = 1_024
"""Characters of a name of an account; a longer one is none."""


class AuthorizeResult(Struct, frozen=True, omit_defaults=True):
    """Where the person has to go. The verifier stays with us."""

    authorize_url: str
    state: str
    pkce_verifier: str | None = None


class LoginFlow(Struct, frozen=True, omit_defaults=True):
    """One login on its way: everything the exchange needs, the client's secret as a reference."""

    name: str
    server: AuthServer
    client: OAuthClient
    redirect_uri: str
    scopes: tuple[str, ...] = ()
    resource: str = ""
    account: str = ""
    hosts: tuple[str, ...] = ()
    near: str = ""
    """The address that was configured, from which the others were found."""
    extra: Mapping[str, str] = {}


class _Waiting(Struct, frozen=True):
    flow: LoginFlow
    verifier: str


class AuthorizationResponse(Struct, frozen=True):
    """The answer that came back through the browser."""

    state: str
    code: str = ""
    iss: str | None = None
    error: str = ""


_OURS = frozenset({"state", "code", "iss", "error"})
_waiting = msgspec.json.Decoder(_Waiting)


async def begin(store: KeyValueStore, flow: LoginFlow) -> AuthorizeResult:
    if not flow.server.authorization_endpoint:
        raise LoginFailed(f"{flow.name}: its authorization server names no authorization endpoint")
    state, verifier = new_state(), new_verifier()
    await store.set(f"{PREFIX}{state}", msgspec.json.encode(_Waiting(flow, verifier)).decode(), LIFETIME_S)
    return AuthorizeResult(authorize_url(flow, state, challenge_of(verifier)), state)


def authorize_url(flow: LoginFlow, state: str, challenge: str) -> str:
    fields = {
        "response_type": "code",
        "client_id": flow.client.client_id,
        "redirect_uri": flow.redirect_uri,
        "scope": " ".join(flow.scopes),
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": flow.resource,
        **flow.extra,
    }
    parts = urlsplit(flow.server.authorization_endpoint)
    theirs = [each for each in parse_qsl(parts.query, keep_blank_values=True) if each[0] not in fields]
    query = [*theirs, *((name, value) for name, value in fields.items() if value)]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(query), ""))


async def finish(store: KeyValueStore, make_web: MakeWeb, returned: AuthorizationResponse) -> tuple[str, Login]:
    """The name and the login. Raises LoginFailed; the state is used up either way."""
    waiting = await _take(store, returned.state)
    flow = waiting.flow
    check_issuer(flow.server, returned.iss)
    if returned.error or not returned.code:
        why = brief(returned.error, SAID_CHARS) or "no code came back"
        raise LoginFailed(f"{flow.name}: the login was not granted: {why}")
    fields = code_fields(returned.code, flow.redirect_uri, waiting.verifier, flow.resource)
    token, answer = await ask_for_token(make_web(flow.near), flow.server, flow.client, fields, flow.name)
    if not token.scopes:
        token = msgspec.structs.replace(token, scopes=flow.scopes)
    login = login_of(flow, token, "authorization_code")
    return flow.name, msgspec.structs.replace(login, account=login.account or account_in(answer))


def login_of(flow: LoginFlow, token: TokenSet, how: str) -> Login:
    """The login that is kept after a finished flow: the token, and all that renews it."""
    return Login(
        token,
        flow.server,
        flow.client,
        account=flow.account,
        resource=flow.resource,
        hosts=flow.hosts,
        obtained_at=int(time.time()),
        asked=flow.scopes,
        flow=how,
    )


async def _take(store: KeyValueStore, state: str) -> _Waiting:
    """Out of the store before anything else happens. Of two who come with the same state only one finds it there."""
    key = f"{PREFIX}{state}"
    kept = await store.get(key) if 0 < len(state) <= 128 else None
    if kept is None or not await store.delete(key):
        raise LoginFailed(
            "this state is not one of ours, was used before, or is older than ten minutes",
            hint="begin the login again",
        )
    return _waiting.decode(kept)


def check_issuer(server: AuthServer, iss: str | None) -> None:
    """RFC 9207, letter by letter: an answer from elsewhere must not make us hand the code to the wrong server."""
    if iss is None:
        if server.sends_iss:
            raise LoginFailed(f"the answer does not say that it comes from {server.issuer}, which it always says")
        return
    asked = server.issuer or _origin(server.authorization_endpoint)
    if (iss if server.issuer else _origin(iss)) != asked:
        raise LoginFailed(f"the answer comes from {brief(iss, SAID_CHARS)!r}, but {asked!r} was asked")


def _origin(url: str) -> str:
    """All that can be compared where only addresses are known, and no issuer."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"


def read_returned(query: str) -> AuthorizationResponse:
    """From the redirect's query."""
    pairs = parse_qsl(query[:MAX_ANSWER], keep_blank_values=True)
    fields = dict(pairs)
    if sum(name in _OURS for name, _ in pairs) > len(_OURS & fields.keys()):
        return AuthorizationResponse("")  # RFC 6749, 3.1: none may come twice, as readers differ in which they take
    return AuthorizationResponse(
        fields.get("state", ""), fields.get("code", ""), fields.get("iss"), fields.get("error", "")
    )


def account_in(told: Mapping[str, Any]) -> str:
    """The account that the login is for, as the id token says. It came straight from the token endpoint, so nobody has
    touched it.
    """
    token = told.get("id_token")
    parts = token.split(".") if isinstance(token, str) else []
    if len(parts) != 3:
        return ""
    try:
        claims = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return ""
    subject = cast("dict[str, object]", claims).get("sub") if isinstance(claims, dict) else None
    return subject if isinstance(subject, str) and len(subject) <= MAX_ACCOUNT and subject.isprintable() else ""

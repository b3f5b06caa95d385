"""From a server that needs a login to the places where one logs in (RFC 9728, RFC 8414, OpenID Connect Discovery).

Nothing a document says is believed before it is checked: the resource must be the server we talk to, the issuer the one
we asked, the proof S256, and every address one that may be asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast
from urllib.parse import SplitResult, urlsplit, urlunsplit

from msgspec import Struct

from clawft.auth.challenge import MAX_SCOPES, Challenge, is_scope
from clawft.auth.site import leads_elsewhere
from clawft.auth.tokens import AuthServer
from clawft.auth.web import Web, check_place, place_of
from clawft.errors import LoginFailed

WELL_KNOWN = "/.well-known/"
RESOURCE = "oauth-protected-resource"
ENDPOINTS = (
    "authorization_endpoint",
    "token_endpoint",
    "registration_endpoint",
    "revocation_endpoint",
    "device_authorization_endpoint",
)
"""Addresses of an authorization server that we use, as its metadata and our `AuthServer` call them."""


By = Literal["browser", "device", "program"]
"""How somebody logs in: a person in a browser, or with a code on another device; or nobody but us."""


class ProtectedResource(Struct, frozen=True):
    """The description that a server gives of its own protection."""

    resource: str
    issuer: str
    scopes: tuple[str, ...] = ()
    guessed: bool = False
    """Whether the server describes nothing, or not now."""


# ── the resource ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def find_resource(web: Web, server: str, challenge: Challenge) -> ProtectedResource:
    """Where this server sends us to log in. One that says nothing is taken to be its own authorization server."""
    for place in resource_places(server, challenge):
        answer = await web.document(place)
        if answer is not None:
            return check_resource(answer, server)
    return ProtectedResource(_without_query(server), _origin(server), guessed=True)


def resource_places(server: str, challenge: Challenge) -> list[str]:
    """The place named by the challenge, and else the two well-known places."""
    if challenge.resource_metadata:
        return [challenge.resource_metadata]
    path = urlsplit(server).path.rstrip("/")
    return list(dict.fromkeys([_well_known(server, RESOURCE, path), _well_known(server, RESOURCE, "")]))


def check_resource(told: Mapping[str, Any], server: str) -> ProtectedResource:
    resource = told.get("resource")
    if not isinstance(resource, str) or not covers(resource, server):
        raise LoginFailed(f"{place_of(server)} describes another resource: {str(resource)[:200]!r}")
    issuers = _texts(told.get("authorization_servers"))
    return ProtectedResource(resource, issuers[0] if issuers else _origin(server), _scopes(told))


def covers(resource: str, server: str) -> bool:
    """A token for `resource` is meant for `server`: the same place, or one above it on the same host."""
    ours, theirs = urlsplit(server), _split(resource)
    if theirs is None or (theirs.scheme.lower(), theirs.netloc.lower()) != (ours.scheme.lower(), ours.netloc.lower()):
        return False
    above, below = theirs.path.rstrip("/"), ours.path.rstrip("/")
    return not theirs.fragment and (below == above or below.startswith(above + "/"))


# ── the authorization server ─────────────────────────────────────────────────────────────────────────────────────────


async def find_server(web: Web, issuer: str, by: By = "browser") -> AuthServer:
    """The metadata of the authorization server, checked for this way of logging in."""
    check_place(issuer, web.near)
    for place in server_places(issuer):
        answer = await web.document(place)
        if answer is not None:
            server = check_server(answer, issuer, web.near, by)
            if by != "program":
                _check_pages(server, web)
            return server
    raise LoginFailed(
        f"{place_of(issuer)} has no metadata of an authorization server",
        hint="check the address; if it needs a key instead of a login, put the key into its `headers`",
    )


def server_places(issuer: str) -> list[str]:
    path = urlsplit(issuer).path.rstrip("/")
    places = [
        _well_known(issuer, "oauth-authorization-server", path),
        _well_known(issuer, "openid-configuration", path),
        f"{_origin(issuer)}{path}{WELL_KNOWN}openid-configuration",
    ]
    return list(dict.fromkeys(places))


def check_server(told: Mapping[str, Any], issuer: str, near: str, by: By = "browser") -> AuthServer:
    """Where a browser's answer could be stolen nobody is sent to one: not now, and not with what is kept of this."""
    named = told.get("issuer")
    if not isinstance(named, str) or not same_issuer(named, issuer):
        raise LoginFailed(f"the metadata of {place_of(issuer)} is that of another issuer: {str(named)[:200]!r}")
    is_safe = "S256" in _texts(told.get("code_challenge_methods_supported"))
    if by == "browser" and not is_safe:
        raise LoginFailed(f"{place_of(issuer)} does not offer PKCE with S256, without which a login can be stolen")
    endpoints = {name: _text(told, name) for name in ENDPOINTS if is_safe or name != "authorization_endpoint"}
    if not endpoints["token_endpoint"]:
        raise LoginFailed(f"the metadata of {place_of(issuer)} names no token endpoint")
    for endpoint in filter(None, endpoints.values()):
        check_place(endpoint, near)
    return AuthServer(
        issuer=named,
        **endpoints,
        scopes_supported=_scopes(told),
        methods_supported=_texts(told.get("token_endpoint_auth_methods_supported")),
        takes_documents=told.get("client_id_metadata_document_supported") is True,
        sends_iss=told.get("authorization_response_iss_parameter_supported") is True,
    )


def _check_pages(server: AuthServer, web: Web) -> None:
    """The pages people are sent to must be allowed, and belong to whoever gets the login."""
    if server.authorization_endpoint:
        web.check_shown(server.authorization_endpoint)
    for page in filter(None, (server.authorization_endpoint, server.device_authorization_endpoint)):
        check_owner(page, server)


def check_owner(shown: str, server: AuthServer) -> None:
    """People who log in at an honest page must not hand what they are given there to whoever sent them."""
    if leads_elsewhere(shown, server):
        raise LoginFailed(
            f"people would log in at {place_of(shown)}, but {place_of(server.token_endpoint)} would get the login",
            hint="if they belong together, name both yourself: weft auth login NAME --auth-url URL --token-url URL",
        )


def same_issuer(one: str, other: str) -> bool:
    """To the letter, but for the slash after a bare host: many programs add it whenever they write a URL."""
    parts = _split(one)
    bare = parts is not None and parts.path in ("", "/")
    return one == other or (bare and one.rstrip("/") == other.rstrip("/"))


# ── small things ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _well_known(url: str, document: str, path: str) -> str:
    return f"{_origin(url)}{WELL_KNOWN}{document}{path}"


def _split(url: str) -> SplitResult | None:
    """None for what is no address at all."""
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def _without_query(url: str) -> str:
    """As a resource is named (RFC 8707): what is secret in a query is between us and the server."""
    return urlunsplit(urlsplit(url)._replace(query="", fragment=""))


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""


def _scopes(told: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(filter(is_scope, _texts(told.get("scopes_supported"))))


def _texts(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(item for item in items[:MAX_SCOPES] if isinstance(item, str))

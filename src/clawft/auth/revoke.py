"""Telling an authorization server that a login is over (RFC 7009)."""

from __future__ import annotations

from clawft.auth.endpoint import proof_of
from clawft.auth.tokens import Login
from clawft.auth.web import Web, place_of
from clawft.errors import LoginFailed


async def revoke(login: Login) -> None:
    """The refresh token where there is one: the access token goes with it. Nothing if the server takes none back."""
    endpoint = login.server.revocation_endpoint
    if not endpoint:
        return
    kind = "refresh_token" if login.tokens.refresh_token else "access_token"
    token = login.tokens.refresh_token or login.tokens.access_token
    proof, headers = await proof_of(login.client)
    web = Web(lambda url, addresses: None, near=endpoint)  # judged when the login was made
    answer = await web.post_form(endpoint, {"token": token, "token_type_hint": kind, **proof}, headers)
    if answer.status != 200:
        raise LoginFailed(f"{place_of(endpoint)} answered with status {answer.status}")

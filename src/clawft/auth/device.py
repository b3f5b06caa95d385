"""Logging in on a machine without a browser: a code to type on another one (RFC 8628)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from clawft.auth.discovery import check_owner
from clawft.auth.endpoint import TokenRefused, ask_for_token, device_fields
from clawft.auth.flow import account_in
from clawft.auth.tokens import AuthServer, Login, OAuthClient
from clawft.auth.web import NotReached, Web, place_of
from clawft.errors import ClawftError, LoginFailed

DEFAULT_INTERVAL_S = 5
SLOWER_S = 5
MAX_LIFETIME_S = 1_800
MAX_USER_CODE = 128

log = logging.getLogger("clawft.auth")


class DeviceCode(Struct, frozen=True):
    """The code and address for the person (`user_code`), and the code for us (`device_code`)."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_at: int
    interval: int

    def __repr__(self) -> str:
        return f"DeviceCode(user_code={self.user_code!r}, verification_uri={self.verification_uri!r})"


async def ask_for_code(
    web: Web, server: AuthServer, client: OAuthClient, scopes: Sequence[str], resource: str
) -> DeviceCode:
    if not server.device_authorization_endpoint:
        raise LoginFailed("this provider has no device login", hint="leave out --device")
    fields = {"client_id": client.client_id, "scope": " ".join(scopes), "resource": resource}
    asked = {name: value for name, value in fields.items() if value}
    answer = await web.post_form(server.device_authorization_endpoint, asked)
    if answer.status != 200 or not answer.text("device_code") or not answer.text("user_code"):
        raise LoginFailed(f"{place_of(server.device_authorization_endpoint)} gives no code: {answer.reason}")
    user_code = answer.text("user_code")
    if len(user_code) > MAX_USER_CODE or not user_code.isprintable():
        raise LoginFailed(f"{place_of(server.device_authorization_endpoint)} gives an invalid user code")
    place = answer.text("verification_uri") or answer.text("verification_url")  # Google's spelling
    web.check_shown(place)
    return DeviceCode(
        answer.text("device_code"),
        user_code,
        place,
        _if_shown(web, answer.text("verification_uri_complete")),
        int(time.time()) + _number(answer.told.get("expires_in"), 600),
        max(_number(answer.told.get("interval"), DEFAULT_INTERVAL_S), 1),
    )


def check_code(code: DeviceCode, server: AuthServer) -> None:
    """Nobody types at an honest page what somebody else has begun there."""
    for page in filter(None, (code.verification_uri, code.verification_uri_complete)):
        check_owner(page, server)


async def poll(web: Web, code: DeviceCode, login: Login) -> Login:
    """Wait until the person has agreed. `login` says who asks; it comes back with the token.

    A server that does not answer, or not now, is asked again after twice the time (RFC 8628, 3.5).
    """
    pause, missed = code.interval, 0
    while time.time() < code.expires_at:
        try:
            return await poll_once(web, code, login)
        except TokenRefused as refused:
            if refused.error not in ("authorization_pending", "slow_down"):
                raise
            pause, missed = pause + (SLOWER_S if refused.error == "slow_down" else 0), 0
        except NotReached as failed:
            missed += 1
            log.warning("the login of %s is still waited for: %s", login.tokens.provider_name, failed)
        await asyncio.sleep(min(pause * 2**missed, max(code.expires_at - time.time(), 0)))
    raise LoginFailed("the code has expired before anybody typed it", hint="begin the login again")


async def poll_once(web: Web, code: DeviceCode, login: Login) -> Login:
    """Raises TokenRefused with `authorization_pending` while the person has not agreed yet."""
    fields = device_fields(code.device_code, login.resource)
    token, answer = await ask_for_token(web, login.server, login.client, fields, login.tokens.provider_name)
    token = token if token.scopes else replace(token, scopes=login.asked)
    account = login.account or account_in(answer)
    return replace(login, tokens=token, account=account, obtained_at=int(time.time()))


def _if_shown(web: Web, url: str) -> str:
    """Only for convenience: without it the person types the code."""
    try:
        web.check_shown(url)
    except ClawftError:
        return ""
    return url


def _number(value: object, otherwise: int) -> int:
    """A number of seconds as told, but no more than we would wait."""
    return int(min(value, MAX_LIFETIME_S)) if isinstance(value, int | float) and value > 0 else otherwise

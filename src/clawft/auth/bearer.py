"""Tokens that others bring to us: JWTs of one issuer, for us, signed with one of its keys (RFC 9068, RFC 8725).

Signatures are checked by PyJWT (the extra `oauth`), imported with the first token.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from clawft.auth.discovery import RESOURCE, WELL_KNOWN, server_places
from clawft.auth.web import Web, check_place, place_of
from clawft.errors import InvalidConfig, LoginFailed
from clawft.store.extras import how_to_install

if TYPE_CHECKING:  # brings the whole of cryptography
    from jwt import PyJWK

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures of a private key only: `none` and shared secrets prove nothing here."""
KEYS_SECONDS = 3_600.0
LAST_KEYS_SECONDS = 4 * KEYS_SECONDS
"""An issuer that is out of reach locks nobody out before its last keys are so old."""
ASK_AGAIN_SECONDS = 30.0
"""A token with an unknown key makes us look for new keys, but not more often than this."""
FAILED_SECONDS = 5.0
"""How long an issuer that did not give its keys is left alone, however many tokens come."""
MAX_KEYS = 64
MIN_RSA_BITS = 2048
"""RFC 7518 takes no shorter ones: whoever has the public part could find the other."""
MAX_TOKEN = 16_384
LEEWAY_S = 30
"""A token may come from a clock that is ahead. It ends by our clock: whoever brings an old one can get another."""
MAX_GROUPS = 1_000
MAX_SUBJECT = 1_024
EXPIRED = "the token has expired"
FAR_FUTURE = 1 << 40
"""Whatever a token says of its end."""
KINDS = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
"""The types that an access token may name. Others of the same issuer (proofs, logout tokens) are not for coming in (RFC
8725).
"""


log = logging.getLogger("clawft.auth")


class Person(Struct, frozen=True):
    """The person that a token proves."""

    subject: str
    client: str
    scopes: frozenset[str]
    groups: frozenset[str]
    expires_at: int


class BadToken(LoginFailed):
    """Why a token is not taken. Never holds the token."""


class Verifier:
    def __init__(
        self, issuer: str, audience: str, web: Web, *, jwks_url: str = "", group_claim: str = "groups"
    ) -> None:
        self.issuer = issuer
        self.audience = audience
        self._web = web
        self._jwks_url = jwks_url
        self._group_claim = group_claim
        self._keys: dict[str, PyJWK] = {}
        self._asked_at = self._failed_at = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    async def verify(self, token: str) -> Person:
        """Raises BadToken with the reason, LoginFailed if the issuer's keys cannot be had."""
        if len(token) > MAX_TOKEN:
            raise BadToken(f"the token is longer than {MAX_TOKEN} characters")
        with _refusals():
            key = await self._key(_key_named_in(token))
            claims = self._claims(token, key)
        person = read_person(claims, self._group_claim)
        if person.expires_at <= time.time():
            raise BadToken(EXPIRED)
        return person

    def _claims(self, token: str, key: PyJWK) -> dict[str, Any]:
        """The claims of the token, if this key has signed it and it is from the issuer, for us, and valid now."""
        import jwt  # brings the whole of cryptography

        return jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            issuer=self.issuer,
            audience=self.audience,
            leeway=LEEWAY_S,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _key(self, kid: str) -> PyJWK:
        age = time.monotonic() - self._asked_at
        if age > KEYS_SECONDS or (kid not in self._keys and age > ASK_AGAIN_SECONDS):
            await self._renew_keys(will_do=kid in self._keys and age <= LAST_KEYS_SECONDS)
        if not kid and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if kid not in self._keys:
            raise BadToken("the token is signed with a key that the issuer does not have")
        return self._keys[kid]

    async def _renew_keys(self, *, will_do: bool) -> None:
        """Whoever comes meanwhile waits for the same answer; if there is none, a later caller asks again.

        `will_do`: without an answer the old key counts on, and once there was none nobody waits for the next.
        """
        try:
            asking = self._ask()
            in_vain = self._failed_at > self._asked_at + KEYS_SECONDS  # somebody has waited since they are old
            if not (will_do and in_vain):
                await asyncio.shield(asking)
        except LoginFailed:
            if not will_do:
                raise

    def _ask(self) -> asyncio.Task[None]:
        if time.monotonic() - self._failed_at < FAILED_SECONDS:
            raise LoginFailed(f"{self.issuer} did not give its keys a moment ago")
        if self._asking is None:
            self._asking = asyncio.get_running_loop().create_task(self._ask_for_keys())
            self._asking.add_done_callback(self._asked)
        return self._asking

    def _asked(self, task: asyncio.Task[None]) -> None:
        self._asking = None
        failed = None if task.cancelled() else task.exception()  # whoever waited has it
        if failed is None:
            return
        if self._failed_at <= self._asked_at:  # told once, until it answers again
            rest = "for some hours the last ones count on" if self._keys else "until then none of its tokens is taken"
            log.warning("%s did not give its keys: %s; %s", self.issuer, failed, rest)
        self._failed_at = time.monotonic()

    async def _ask_for_keys(self) -> None:
        self._keys = await self._fetch_keys()
        self._asked_at = time.monotonic()

    async def _fetch_keys(self) -> dict[str, PyJWK]:
        url = self._jwks_url or await self._find_keys()
        answer = await self._web.document(url)
        listed = answer.get("keys") if answer else None
        if not isinstance(listed, list):
            raise LoginFailed(f"{place_of(url)} has no keys")
        some = cast("list[object]", listed)[:MAX_KEYS]
        described = [cast("dict[str, Any]", each) for each in some if isinstance(each, dict)]
        return {str(each.get("kid", "")): key for each in described if (key := read_key(each)) is not None}

    async def _find_keys(self) -> str:
        for place in server_places(self.issuer):
            answer = await self._web.document(place)
            if answer is not None:
                url = answer.get("jwks_uri")
                if answer.get("issuer") != self.issuer or not isinstance(url, str):
                    raise LoginFailed(f"the metadata at {place_of(place)} is not that of {self.issuer}")
                check_place(url, self._web.near)
                return url
        raise LoginFailed(f"{self.issuer} has no metadata", hint="set gateway.auth.jwks_url")


def _key_named_in(token: str) -> str:
    """The id of the key that is said to have signed it. Raises BadToken for a head no token for us has."""
    import jwt  # brings the whole of cryptography

    head = jwt.get_unverified_header(token)
    if head.get("alg") not in ALGORITHMS:
        raise BadToken("the token is not signed by a key of the issuer's")
    if "crit" in head:
        raise BadToken("the token has critical extensions, of which we understand none")
    if str(head.get("typ", "")).lower() not in KINDS:
        raise BadToken("the token is of another kind than those for access")
    return str(head.get("kid", ""))


@contextmanager
def _refusals() -> Generator[None]:
    """Turns errors of the library into BadToken, in words that hold nothing of the token."""
    import jwt  # brings the whole of cryptography

    try:
        yield
    except jwt.ExpiredSignatureError:
        raise BadToken(EXPIRED) from None
    except jwt.ImmatureSignatureError:
        raise BadToken("the token is not valid yet") from None
    except jwt.InvalidAudienceError:
        raise BadToken("the token is meant for somebody else") from None
    except jwt.InvalidIssuerError:
        raise BadToken("the token comes from another issuer") from None
    except (jwt.PyJWTError, ValueError, TypeError) as wrong:
        raise BadToken(f"the token is not valid: {type(wrong).__name__}") from None


def read_key(described: Mapping[str, Any]) -> PyJWK | None:
    """None for one that proves nothing, or is of a kind we do not know."""
    import jwt  # brings the whole of cryptography

    if not is_for_signing(described):
        return None
    try:
        key = jwt.PyJWK(dict(described))
    except (jwt.PyJWTError, ValueError, TypeError, NotImplementedError):  # the last of them for `alg` none
        return None
    return key if key.key_type != "RSA" or key.key.key_size >= MIN_RSA_BITS else None


def is_for_signing(key: Mapping[str, Any]) -> bool:
    """As the issuer describes it (RFC 7517); a key that whoever reads it could sign with is none."""
    operations = key.get("key_ops", ["verify"])
    return (
        key.get("kty") in ("RSA", "EC", "OKP")
        and "d" not in key
        and key.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
    )


def read_person(claims: Mapping[str, Any], group_claim: str) -> Person:
    scope = claims.get("scope", claims.get("scp", ""))
    scopes = scope.split() if isinstance(scope, str) else _texts(scope)
    client = claims.get("client_id", claims.get("azp", ""))
    subject = str(claims["sub"])
    if not 0 < len(subject) <= MAX_SUBJECT or not subject.isprintable():
        raise BadToken("the token names nobody: its subject is empty, too long or not printable")
    if "jkt" in _mapping(claims.get("cnf")):
        raise BadToken("the token is bound to a key of its client (DPoP), and nobody proved here to have that")
    return Person(
        subject,
        client if isinstance(client, str) else "",
        frozenset(scopes),
        frozenset(_texts(claims.get(group_claim))),
        min(int(claims["exp"]), FAR_FUTURE),
    )


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _texts(value: object) -> Sequence[str]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items[:MAX_GROUPS] if isinstance(item, str)]


def check_installed() -> None:
    """Raises InvalidConfig that names the extra, at the start and not with the first caller."""
    try:
        import jwt.algorithms  # only whether it is there
    except ImportError:
        missing = True
    else:
        missing = not jwt.algorithms.has_crypto
    if missing:
        raise InvalidConfig("gateway.auth.issuer needs the extra `oauth`", hint=how_to_install("oauth"))


def metadata_place(path: str) -> str:
    """Where a resource describes itself (RFC 9728)."""
    return f"{WELL_KNOWN}{RESOURCE}{path}"

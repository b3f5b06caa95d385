"""Decides who may come in over HTTP: the right host, a harmless origin, a known token. Decided before the
body is read.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache

from msgspec import Struct

from clawft.link.loop_detection import sent_by_us
from clawft.model import Caller
from clawft.wire.headers import Headers

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


class AccessRefusal(Struct, frozen=True):
    status: int
    message: str
    challenge: str = ""
    """The `WWW-Authenticate` header that goes with it."""
    retry_s: int = 0
    """Seconds after which it may go better; the connection is closed until then."""


AccessAnswer = Caller | AccessRefusal | Awaitable[Caller | AccessRefusal]
Authenticate = Callable[[Headers], AccessAnswer | None]
"""The caller these headers prove, why not, or None for a word of ours; to be awaited where somebody must be asked."""
REALM = 'Bearer realm="clawft"'
OF_A_PROXY = "a proxy in front of it must send a Host that the gateway knows, such as localhost"
WHERE_IT_IS = "`weft gateway` prints the line that has it"


class Access:
    """`hosts` are the names we answer to (None: any, for a bind that is not loopback and therefore needs a token)."""

    def __init__(
        self,
        authenticate: Authenticate,
        hosts: frozenset[str] | None = LOOPBACK_HOSTS,
        metadata: Callable[[], bytes] | None = None,
    ) -> None:
        """`metadata`: what we say about our protection to whoever asks (RFC 9728)."""
        self._authenticate = authenticate
        self._hosts = hosts
        self.metadata = metadata

    def check_place(self, headers: Headers) -> AccessRefusal | None:
        """Against DNS rebinding, pages of other sites, and ourselves. The usual case costs three look-ups."""
        host = _without_port(headers.get(b"host", b""))
        if self._hosts is not None and host not in self._hosts:
            return AccessRefusal(421, f"this gateway does not answer to the host {host[:100]!r}; {OF_A_PROXY}")
        origin = headers.get(b"origin")
        if origin is not None and not self._is_own(origin, host):
            return AccessRefusal(403, "requests from this origin are refused")
        if sent_by_us(headers.get(b"cdn-loop", b"")):
            return AccessRefusal(508, "this gateway is a server of itself: take it off its own list of servers")
        return None

    def _is_own(self, origin: bytes, host: str) -> bool:
        scheme, mark, place = origin.partition(b"://")
        if not mark or scheme.lower() not in (b"http", b"https"):
            return False
        name = _without_port(place)
        return name in self._hosts if self._hosts is not None else name == host

    def caller(self, headers: Headers) -> AccessAnswer:
        found = self._authenticate(headers)
        return _not_ours(headers) if found is None else found


def _not_ours(headers: Headers) -> AccessRefusal:
    """The refusal for a token of another home, or an old one: its owner should not look for a mistake in the header."""
    if bearer_of(headers):
        return AccessRefusal(401, f"this token is not the gateway's; {WHERE_IT_IS}", f'{REALM}, error="invalid_token"')
    return AccessRefusal(401, f"a bearer token is required; {WHERE_IT_IS}", REALM)


_PLACE = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]*)?")


@lru_cache(maxsize=256)
def _without_port(place: bytes) -> str:
    """The name in `name:port`; what is not of this form is its own name, and nobody's."""
    read = _PLACE.fullmatch(place)
    return (read[1] if read else place).decode("latin-1").lower()


def open_to_all(base: Caller) -> Authenticate:
    """For `--no-auth` on loopback."""
    return lambda headers: base


def with_token(token: str, base: Caller) -> Authenticate:
    """One token, one person. An empty one opens to nobody: who brings none has no other."""
    expected = token.encode()

    def authenticate(headers: Headers) -> Caller | None:
        return base if expected and hmac.compare_digest(bearer_of(headers), expected) else None

    return authenticate


def bearer_of(headers: Headers) -> bytes:
    """The token of the Authorization header; empty if there is none."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""

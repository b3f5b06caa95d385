"""What every HTTP link does: one client, one exchange at a time, and what a status means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clawft.errors import LinkClosed, LinkRefused, NeedsAuth, WireError
from clawft.wire import jsonrpc
from clawft.wire.jsonrpc import Failure

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse, ClientSession

CONNECT_SECONDS = 10.0
ASIDE_SECONDS = 10.0
"""How long a message without an answer may take; nobody waits for it."""
EXCERPT = 300

NO_ANSWER_STATUS = 300
"""From here on a status is no answer: we follow no redirects, as they could lead our headers to someone else."""
OURS = frozenset({"accept", "content-type", "content-length", "host", "last-event-id", "mcp-session-id"})
"""Headers that no configuration may set."""


def open_client() -> ClientSession:
    """Keeps connections, no cookies; each request has its own deadline, connecting has ours."""
    import aiohttp  # on first use: see above

    return aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
    )


def configured_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in OURS}


def needs_auth(url: str, response: ClientResponse) -> NeedsAuth:
    challenge = response.headers.get("WWW-Authenticate", "")
    return NeedsAuth(f"{url} wants a login", challenge=challenge, hint="give it a token in `headers`")


async def refused(url: str, response: ClientResponse) -> LinkRefused:
    place = response.headers.get("Location")
    excerpt = b"it has moved to " + place.encode() if place else await response.content.read(EXCERPT)
    return refusal(url, response.status, excerpt)


def refusal(url: str, status: int, body: bytes) -> LinkRefused:
    return LinkRefused(
        f"{url} answered with status {status}: {body[:EXCERPT].decode(errors='replace')}", http_status=status
    )


def is_failure(body: bytes) -> bool:
    try:
        return isinstance(jsonrpc.decode(body), Failure)
    except WireError:
        return False


class Exchange:
    """One HTTP exchange; what aiohttp raises becomes one of our own errors."""

    def __init__(
        self, client: ClientSession, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> None:
        self._context = client.request(method, url, headers=headers, data=body, allow_redirects=False)
        self._url = url

    async def __aenter__(self) -> ClientResponse:
        import aiohttp  # loaded already: the client exists

        try:
            return await self._context.__aenter__()
        except (aiohttp.ClientError, OSError, ValueError) as failed:
            raise LinkClosed(f"{self._url} cannot be reached: {failed}") from None

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        import aiohttp  # loaded already: the client exists

        await self._context.__aexit__(kind, error, None)
        if isinstance(error, aiohttp.ClientError | OSError) and not isinstance(error, TimeoutError):
            raise LinkClosed(f"{self._url} broke off: {error}") from None

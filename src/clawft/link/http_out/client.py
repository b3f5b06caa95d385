"""The common part of every HTTP link: one client, and the state it keeps while it is open."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clawft.errors import NeedsAuth
from clawft.link.faults import Faults
from clawft.link.http_out.exchange import challenges_in, exchanges
from clawft.link.http_out.gzip_coding import READ_AHEAD
from clawft.link.http_out.receive_state import ReceiveState
from clawft.policy.address import is_loopback
from clawft.wire.framing import DEFAULT_LIMIT
from clawft.wire.revisions import REVISIONS
from clawft.wire.secrets import mask_url

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse, ClientSession

    from clawft.link.base import Credentials

CONNECT_SECONDS = 10.0
ASIDE_SECONDS = 10.0
"""How long a message without an answer may take; nobody waits for it."""
GOODBYE_SECONDS = 2.0
"""How long a link that closes waits for what it still has to say."""
ACCEPTED_ENCODINGS = "gzip, deflate"
"""Content codings we accept; aiohttp would add those of other packages that happen to be installed."""
OURS = frozenset({"accept", "content-type", "content-length", "host", "last-event-id", "mcp-session-id"})
"""Headers that no configuration may set."""


def open_client(proxy: str = "") -> ClientSession:
    """Keeps connections, no cookies; each request has its own deadline, connecting has ours.

    With a `proxy` it connects to that, and looks up no other name.
    """
    import aiohttp  # costs more to import than everything else here

    from clawft.link import loop_detection
    from clawft.link.http_out.connector import Connector
    from clawft.link.http_out.dns import Resolver

    return aiohttp.ClientSession(
        connector=Connector(resolver=Resolver()),
        proxy=proxy or None,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": ACCEPTED_ENCODINGS, loop_detection.HEADER: loop_detection.process_mark()},
        read_bufsize=READ_AHEAD,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
    )


_hurry = threading.Event()


def say_no_goodbyes() -> None:
    """Skip farewells, as this process ends at once: messages that a link would send when it closes are not
    waited for.
    """
    _hurry.set()


async def close_client(client: ClientSession, leaving: Collection[asyncio.Task[None]]) -> None:
    """Once they have gone who are about to leave, or have had their time; at once where nobody waits for them."""
    try:
        if leaving and not _hurry.is_set():
            await asyncio.wait(leaving, timeout=GOODBYE_SECONDS)
    finally:
        await client.close()
        for task in leaving:
            task.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)


def _is_here(url: str) -> bool:
    """No proxy leads back to this machine, and none may hear what is said here."""
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:  # no address at all: whoever connects says so
        return False


def configured_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in OURS}


class ClientLink:
    """Where a link over HTTP leads, what it sends along, and what it keeps while it is open."""

    child = None

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        credentials: Credentials | None = None,
        *,
        name: str = "",
        limit: int = DEFAULT_LIMIT,
        proxy: str = "",
    ) -> None:
        """`name`: what whoever configured it calls the server."""
        self._target = url
        self._name = name
        self._url = mask_url(url)
        self._exchange = exchanges(credentials)
        self._configured = configured_headers(headers or {})
        self._limit = limit
        self._proxy = proxy if proxy and not _is_here(url) else ""
        self._client: ClientSession | None = None
        self._goodbyes: set[asyncio.Task[None]] = set()
        self._received = ReceiveState(name or self._url)
        self.refused_notice = ""

    @property
    def faults(self) -> Faults:
        return self._received.faults

    def _needs_auth(self, response: ClientResponse) -> NeedsAuth:
        """Where no login of ours is used: because a header was configured instead, or nobody has any for us."""
        if any(name.lower() == "authorization" for name in self._configured):
            problem = f"{self._url} rejects the Authorization header that is configured for it"
            hint = f"correct it in `headers`, or remove it and run: weft auth login {self._name}"
        else:
            problem, hint = f"{self._url} needs a login", "give it a token in `headers`"
        sent = "Authorization" in response.request_info.headers
        return NeedsAuth(problem, challenge=challenges_in(response), hint=hint, passing=not sent)

    def settled(self, revision: str) -> None:
        self._received.batches = REVISIONS[revision].batches

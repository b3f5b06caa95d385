"""What every HTTP link does: one client, one exchange at a time, and what a status means."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from io import BytesIO
from typing import TYPE_CHECKING

from clawft.errors import (
    METHOD_NOT_FOUND,
    LinkClosed,
    LinkRefused,
    MessageTooLong,
    NeedsAuth,
    ProtocolFailure,
    WireError,
)
from clawft.link.faults import Faults
from clawft.link.share.noise import Noise
from clawft.link.share.turns import ALONE_FROM, AwaitedTurn, LinkSender
from clawft.wire.framing import DEFAULT_LIMIT
from clawft.wire.headers import legible
from clawft.wire.jsonrpc import reading
from clawft.wire.jsonrpc.messages import NULL, Failure, Response
from clawft.wire.revisions import REVISIONS
from clawft.wire.secrets import mask_url

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse, ClientSession

    from clawft.link.base import Credentials

CONNECT_SECONDS = 10.0
READ_AHEAD = 64 * 1024
"""Bytes of an answer that wait to be read, about; there may be many answers at a time."""
ASIDE_SECONDS = 10.0
"""How long a message without an answer may take; nobody waits for it."""
GOODBYE_SECONDS = 2.0
"""How long a link that closes waits for what it still has to say."""
EXCERPT = 300
CHALLENGES = (401, 403)
MAX_CHALLENGES = 6
"""How often one request may be sent before a server that is never content is given up."""

NO_ANSWER_STATUS = 300
"""From here on a status is no answer: we follow no redirects, as they could lead our headers to someone else."""
PACKED = "gzip, deflate"
"""What an answer may be packed with: whatever else is installed beside us changes nothing."""
OURS = frozenset({"accept", "content-type", "content-length", "host", "last-event-id", "mcp-session-id"})
"""Headers that no configuration may set."""


def open_client() -> ClientSession:
    """Keeps connections, no cookies; each request has its own deadline, connecting has ours."""
    import aiohttp  # on first use: see above

    from clawft.link import loops
    from clawft.link.http_out.connector import Connector
    from clawft.link.http_out.names import Resolver

    return aiohttp.ClientSession(
        connector=Connector(resolver=Resolver()),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": PACKED, loops.HEADER: loops.own_mark()},
        read_bufsize=READ_AHEAD,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
    )


async def close_client(client: ClientSession, leaving: Collection[asyncio.Task[None]]) -> None:
    """Once they have gone who are about to leave, or have had their time; at once where nobody waits for them."""
    try:
        if leaving:
            await asyncio.wait(leaving, timeout=GOODBYE_SECONDS)
    finally:
        await client.close()
        for task in leaving:
            task.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)


def configured_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in OURS}


def told_in(response: ClientResponse, header: str) -> str:
    return legible(response.headers.get(header, ""))


def challenges_in(response: ClientResponse) -> str:
    """All of them: a server may have several, each in a line of its own."""
    return legible(", ".join(response.headers.getall("WWW-Authenticate", ())))


async def refused(url: str, response: ClientResponse) -> LinkRefused:
    place = told_in(response, "Location")
    excerpt = b"it has moved to " + place.encode() if place else await response.content.read(EXCERPT)
    return refusal(url, response.status, excerpt)


def refusal(url: str, status: int, body: bytes) -> LinkRefused:
    """A page is for people: its beginning would tell nobody what is wrong."""
    if is_page(body):
        said, hint = _PAGE, _PAGE_HINT
    else:
        said, hint = " ".join(body[:EXCERPT].decode(errors="replace").split()), ""
    told = f"{url} answered with status {status}"
    return LinkRefused(f"{told}: {said}" if said else told, http_status=status, hint=hint)


async def read_body(url: str, response: ClientResponse, limit: int, sender: LinkSender) -> bytes:
    """The whole of an answer, large ones one at a time. Raises MessageTooLong."""
    # BytesIO gives its bytes away without a copy; it is closed, as what ends badly may be kept by its own traceback
    with AwaitedTurn(sender, response.close) as turn, BytesIO() as whole:
        async for part in response.content.iter_chunked(READ_AHEAD):
            whole.write(part)
            size = whole.tell()
            if size > limit:
                raise MessageTooLong(f"{url} sent more than {limit} bytes")
            if size >= ALONE_FROM:
                await turn.wait(size)
        return whole.getvalue()


def no_message(url: str, body: bytes, wrong: WireError) -> LinkClosed:
    if is_page(body):
        return LinkClosed(f"{url} answered with {_PAGE}", hint=_PAGE_HINT)
    return LinkClosed(f"{url} sent something that is no message: {wrong}")


def is_page(body: bytes) -> bool:
    return body.lstrip()[:1] == b"<"


_PAGE, _PAGE_HINT = "a web page, and no message", "is this the address of an MCP server? Many end in /mcp"


def is_failure(body: bytes) -> bool:
    try:
        return isinstance(reading.decode(body), Failure)
    except WireError:
        return False


def is_unknown_method(body: bytes, id: int) -> bool:
    """Is it this very request that was not found, and not the session?"""
    try:
        answer = reading.decode(body)
        if not isinstance(answer, Failure) or answer.id != b"%d" % id:
            return False
        return answer.read().error_code == METHOD_NOT_FOUND
    except (WireError, ProtocolFailure):
        return False


def answers(message: Response | Failure, id: int | None) -> bool:
    """An error may come without our id: a server that could not read the request did not see it."""
    if id is None:
        return False
    return message.id == b"%d" % id or (isinstance(message, Failure) and message.id == NULL)


class ClientExchange:
    """One HTTP exchange; what aiohttp raises becomes one of our own errors."""

    def __init__(
        self, client: ClientSession, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> None:
        self._context: AbstractAsyncContextManager[ClientResponse] = client.request(
            method, url, headers=headers, data=body, allow_redirects=False
        )
        self._url = url

    async def __aenter__(self) -> ClientResponse:
        import aiohttp  # loaded already: the client exists

        try:
            return await self._context.__aenter__()
        except (aiohttp.ClientError, OSError, ValueError) as failed:
            raise self._closed("cannot be reached", failed) from None

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        import aiohttp  # loaded already: the client exists

        await self._context.__aexit__(kind, error, None)
        if isinstance(error, aiohttp.ClientError | OSError) and not isinstance(error, TimeoutError):
            raise self._closed("broke off", error) from None

    def _closed(self, what: str, error: BaseException) -> LinkClosed:
        """Errors of the library name the whole address; ours do not."""
        from clawft.link.http_out.connect_failure import advice, has_left, is_no_http, reason  # as aiohttp

        shown = mask_url(self._url)
        what = "sent an answer that is no HTTP" if is_no_http(error) else "broke off" if has_left(error) else what
        return LinkClosed(f"{shown} {what}: {reason(error).replace(self._url, shown)}", hint=advice(error))


class LoginExchange(ClientExchange):
    """An exchange with a login: a request that is refused for want of one is sent again with a better one."""

    def __init__(self, make: Callable[[Mapping[str, str]], ClientExchange], url: str, credentials: Credentials) -> None:
        """`make` gives the exchange with these headers added."""
        self._make = make
        self._url = url
        self._credentials = credentials

    async def __aenter__(self) -> ClientResponse:
        for _ in range(MAX_CHALLENGES):
            ready = self._credentials.ready()
            sent = await self._credentials.authorization() if ready is None else ready
            exchange = self._make({"Authorization": sent} if sent else {})
            response = await exchange.__aenter__()
            self._context = exchange
            if response.status not in CHALLENGES or not await self._is_better(response, sent):
                return response
            await exchange.__aexit__(None, None, None)
        raise LinkRefused(f"{mask_url(self._url)} is content with no login", http_status=401)

    async def _is_better(self, response: ClientResponse, sent: str) -> bool:
        try:
            return await self._credentials.challenged(response.status, challenges_in(response), sent)
        except BaseException:
            await self._context.__aexit__(None, None, None)
            raise


Exchanges = Callable[["ClientSession", str, str, Mapping[str, str], bytes | None], ClientExchange]


def exchanges(credentials: Credentials | None) -> Exchanges:
    """How a link makes its exchanges: as they are, or with a login."""
    if credentials is None:
        return ClientExchange

    def make(
        client: ClientSession, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> LoginExchange:
        def once(own: Mapping[str, str]) -> ClientExchange:
            return ClientExchange(client, method, url, {**headers, **own} if own else headers, body)

        return LoginExchange(once, url, credentials)

    return make


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
    ) -> None:
        """`name`: what whoever configured it calls the server."""
        self._target = url
        self._name = name
        self._url = mask_url(url)
        self._exchange = exchanges(credentials)
        self._configured = configured_headers(headers or {})
        self._limit = limit
        self._client: ClientSession | None = None
        self._goodbyes: set[asyncio.Task[None]] = set()
        self._noise = Noise()
        self._batches = False
        self._bad_events = self._long_events = self._unasked = 0
        self.refused_notice = ""

    @property
    def faults(self) -> Faults:
        return Faults(self._unasked, self._bad_events, self._long_events, int(self._noise.paused))

    def _needs_auth(self, response: ClientResponse) -> NeedsAuth:
        """Where no login of ours is used: because a header was configured instead, or nobody has any for us."""
        if any(name.lower() == "authorization" for name in self._configured):
            told = f"{self._url} does not take the Authorization header that is configured for it"
            hint = f"correct it in `headers`, or take it out there and: weft auth login {self._name}"
        else:
            told, hint = f"{self._url} wants a login", "give it a token in `headers`"
        return NeedsAuth(told, challenge=challenges_in(response), hint=hint)

    def settled(self, revision: str) -> None:
        self._batches = REVISIONS[revision].batches

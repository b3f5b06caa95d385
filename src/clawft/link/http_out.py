"""A server behind Streamable HTTP: each message a POST, answered by JSON or by an event stream.

A link never retries a request by itself. It resumes a stream the server has asked it to come back to, which is not a
retry: the request stays the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from clawft.errors import (
    LinkClosed,
    LinkError,
    LinkRefused,
    MessageTooLong,
    NeedsAuth,
    RequestTimeout,
    SessionLost,
    WireError,
)
from clawft.link.base import Incoming, LinkKind, Lost, Outgoing
from clawft.link.patience import Patience, within
from clawft.wire import jsonrpc
from clawft.wire.correlate import Waiting
from clawft.wire.framing import DEFAULT_LIMIT
from clawft.wire.headers import encode_value
from clawft.wire.jsonrpc import Failure, Message, Notification, Request, Response
from clawft.wire.secrets import mask_url
from clawft.wire.sse import Event, EventReader

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse, ClientSession

CONNECT_SECONDS = 10.0
ASIDE_SECONDS = 10.0
"""How long a message without an answer may take; nobody waits for it."""
GOODBYE_SECONDS = 2.0
LISTEN_SECONDS = 1.0
"""How long a handshake waits for the stream of unasked messages; it may still open later."""
EXCERPT = 300
MAX_RESUMES = 10
"""How often we come back to a stream that has nothing new; one with news may send us away for ever."""
MAX_RETRY_SECONDS = 30.0
STREAM_RETRY_SECONDS = 1.0

ACCEPT = "application/json, text/event-stream"
EVENTS = "text/event-stream"
NO_ANSWER_STATUS = 300
"""From here on a status is no answer: we follow no redirects, as they could lead our headers to someone else."""
OURS = frozenset({"accept", "content-type", "content-length", "host", "last-event-id", "mcp-session-id"})
"""Headers that no configuration may set."""

log = logging.getLogger("clawft.link")


class HttpLink:
    kind: LinkKind = "http"

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, *, limit: int = DEFAULT_LIMIT) -> None:
        self._target = url
        self._url = mask_url(url)
        self._configured = configured_headers(headers or {})
        self._limit = limit
        self._ids: Waiting[None] = Waiting()
        self._session_id = ""
        self._revision = ""
        self._client: ClientSession | None = None
        self._listening: asyncio.Task[None] | None = None
        self._goodbyes: set[asyncio.Task[None]] = set()
        self._gone = False
        self._heard_of = asyncio.Event()
        """Set when the server has said whether there is a stream for what belongs to no request."""

    async def open(self, incoming: Incoming, lost: Lost) -> None:
        self._incoming = incoming
        self._lost = lost
        self._client = open_client()

    def settled(self, revision: str) -> None:
        self._revision = revision

    # ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def request(self, outgoing: Outgoing, patience: Patience | None = None) -> Response | Failure:
        id = self._ids.open(None)
        try:
            return await within(patience, self._request(id, outgoing))
        except (asyncio.CancelledError, RequestTimeout):
            if not outgoing.revision and outgoing.method != "initialize":
                self._aside(jsonrpc.notification("notifications/cancelled", b'{"requestId":%d}' % id))
            raise
        except (SessionLost, NeedsAuth) as gone:
            self._lose(gone)
            raise
        finally:
            self._ids.close(id)

    def _lose(self, error: LinkError) -> None:
        """Nothing we could send will be served any more. Said once."""
        if not self._gone and self._client is not None:
            self._gone = True
            self._lost(error)

    async def _request(self, id: int, outgoing: Outgoing) -> Response | Failure:
        body = jsonrpc.request(id, outgoing.method, outgoing.params)
        async with self._post(body, outgoing) as response:
            await self._check(response)
            if response.content_type == EVENTS:
                answer = await self._answer_in_stream(id, response, resumable=not outgoing.revision)
            else:
                answer = self._answer_to(id, await self._read(response))
            if outgoing.method == "initialize" and isinstance(answer, Response):
                self._session_id = response.headers.get("Mcp-Session-Id", "")
            return answer

    def _answer_to(self, id: int, body: bytes) -> Response | Failure:
        """An error may come without our id: a server that could not read the request did not see it."""
        answer = self._decode(body)
        if isinstance(answer, Response | Failure) and answer.id == b"%d" % id:
            return answer
        if isinstance(answer, Failure) and answer.id == jsonrpc.NULL:
            return answer
        raise LinkClosed(f"{self._url} answered with something else than the answer to our request")

    async def notify(self, method: str, params: bytes = b"") -> None:
        await self._post_aside(jsonrpc.notification(method, params))
        if method == "notifications/initialized":
            self._listening = asyncio.get_running_loop().create_task(self._listen())
            await self._until_listening()

    async def _until_listening(self) -> None:
        """A server may put its first question on that stream, and lose it if nobody is there yet."""
        try:
            async with asyncio.timeout(LISTEN_SECONDS):
                await self._heard_of.wait()
        except TimeoutError:
            log.debug("%s does not say whether it has a stream for us", self._url)

    async def answer(self, message: bytes) -> None:
        await self._post_aside(message)

    def _aside(self, message: bytes) -> None:
        """Send it while whoever caused it is already leaving."""
        task = asyncio.get_running_loop().create_task(self._post_aside(message))
        self._goodbyes.add(task)
        task.add_done_callback(self._goodbyes.discard)

    async def _post_aside(self, message: bytes) -> None:
        """A message without an answer: an error status is noted, not raised into whatever call is running."""
        try:
            async with asyncio.timeout(ASIDE_SECONDS), self._post(message, None) as response:
                if response.status >= NO_ANSWER_STATUS:
                    log.warning("%s answered a notification with status %d", self._url, response.status)
        except (LinkError, TimeoutError) as failed:
            log.warning("%s took no notification: %s", self._url, failed)

    def _post(self, body: bytes, outgoing: Outgoing | None) -> Exchange:
        return Exchange(self._open_client(), "POST", self._target, self._headers(outgoing), body)

    def _headers(self, outgoing: Outgoing | None) -> dict[str, str]:
        headers = {**self._configured, "Content-Type": "application/json", "Accept": ACCEPT}
        if outgoing is not None and outgoing.revision:
            headers["MCP-Protocol-Version"] = outgoing.revision
            headers["Mcp-Method"] = outgoing.method
            if outgoing.name:
                headers["Mcp-Name"] = encode_value(outgoing.name)
            headers.update(outgoing.mirrored)
            return headers
        if self._revision:
            headers["MCP-Protocol-Version"] = self._revision
        if self._session_id:
            headers["Mcp-Session-Id"] = self._session_id
        return headers

    def _open_client(self) -> ClientSession:
        if self._client is None or self._client.closed:
            raise LinkClosed(f"the link to {self._url} is closed")
        return self._client

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _check(self, response: ClientResponse) -> None:
        """What a status means. An error status with a JSON-RPC error in its body is an answer like any other."""
        if response.status < NO_ANSWER_STATUS:
            return
        if response.status == 401:
            raise needs_auth(self._url, response)
        if response.status == 404 and self._session_id:
            raise SessionLost(f"{self._url} has forgotten our session")
        if response.content_type != "application/json" or response.status == 403:
            raise await refused(self._url, response)

    async def _read(self, response: ClientResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > self._limit:
                raise MessageTooLong(f"{self._url} sent more than {self._limit} bytes")
            parts.append(part)
        body = b"".join(parts)
        if response.status >= NO_ANSWER_STATUS and not _is_failure(body):
            raise _refusal(self._url, response.status, body)
        return body

    def _decode(self, body: bytes) -> Message:
        try:
            return jsonrpc.decode(body)
        except WireError as wrong:
            raise LinkClosed(f"{self._url} sent something that is no message: {wrong}") from None

    async def _answer_in_stream(self, id: int, response: ClientResponse, *, resumable: bool) -> Response | Failure:
        """Read until our answer comes; come back to the stream where the server sends us away for a while."""
        place = Place()
        answer = await self._read_stream(id, response, place)
        idle = 0
        while answer is None and resumable and place.last_id and idle < MAX_RESUMES:
            await asyncio.sleep(min(place.retry_seconds, MAX_RETRY_SECONDS))
            before = place.events
            answer = await self._resume(id, place)
            idle = 0 if place.events > before else idle + 1
        if answer is None:
            raise LinkClosed(f"{self._url} ended the stream without an answer")
        return answer

    async def _resume(self, id: int, place: Place) -> Response | Failure | None:
        headers = {**self._headers(None), "Accept": EVENTS, "Last-Event-ID": place.last_id}
        async with Exchange(self._open_client(), "GET", self._target, headers, None) as response:
            if response.status == 404 and self._session_id:
                raise SessionLost(f"{self._url} has forgotten our session")
            if response.status >= NO_ANSWER_STATUS:
                raise await refused(self._url, response)
            return await self._read_stream(id, response, place)

    async def _read_stream(self, id: int | None, response: ClientResponse, place: Place) -> Response | Failure | None:
        """Everything on the stream; ends with the answer to `id`, or None when the stream does, well or not."""
        async for event in events_of(response, self._limit):
            place.note(event)
            message = self._message(event)
            if isinstance(message, Request | Notification):
                self._incoming(message, id)
            elif message is not None and id is not None and message.id == b"%d" % id:
                return message
        return None

    def _message(self, event: Event) -> Message | None:
        if not event.data or event.event != "message":
            return None
        try:
            return jsonrpc.decode(event.data.encode())
        except WireError as wrong:
            log.warning("%s sent an event that is no message: %s", self._url, wrong)
            return None

    # ── the stream for what belongs to no request ────────────────────────────────────────────────────────────────────

    async def _listen(self) -> None:
        """Handshake era: hold a GET stream open where the server offers one, and come back when it breaks."""
        place = Place()
        pause = STREAM_RETRY_SECONDS
        while True:
            before = place.events
            try:
                offered = await self._listen_once(place)
            except SessionLost as gone:
                self._lose(gone)
                return
            except (LinkError, WireError) as failed:
                log.debug("the stream of %s: %s", self._url, failed)
                offered = True
            if not offered:
                return
            pause = place.retry_seconds if place.events > before else pause * 2
            pause = min(max(pause, STREAM_RETRY_SECONDS), MAX_RETRY_SECONDS)
            await asyncio.sleep(pause)

    async def _listen_once(self, place: Place) -> bool:
        headers = {**self._headers(None), "Accept": EVENTS}
        if place.last_id:
            headers["Last-Event-ID"] = place.last_id
        async with Exchange(self._open_client(), "GET", self._target, headers, None) as response:
            self._heard_of.set()
            if response.status == 404 and self._session_id:
                raise SessionLost(f"{self._url} has forgotten our session")
            if response.status >= NO_ANSWER_STATUS or response.content_type != EVENTS:
                return False
            await self._read_stream(None, response, place)
        return True

    async def close(self) -> None:
        """End the session where there is one, fail what is in flight; may be called twice."""
        client, self._client = self._client, None
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        if client is None:
            return
        leaving = {*self._goodbyes, asyncio.get_running_loop().create_task(self._say_goodbye(client))}
        await asyncio.wait(leaving, timeout=GOODBYE_SECONDS)
        await client.close()
        for task in leaving:
            task.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)

    async def _say_goodbye(self, client: ClientSession) -> None:
        if not self._session_id or self._gone:
            return
        try:
            async with Exchange(client, "DELETE", self._target, self._headers(None), None):
                pass
        except LinkError:
            log.debug("%s did not take our goodbye", self._url)


# ── what every HTTP link does ────────────────────────────────────────────────────────────────────────────────────────


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
    return _refusal(url, response.status, excerpt)


def _refusal(url: str, status: int, body: bytes) -> LinkRefused:
    return LinkRefused(
        f"{url} answered with status {status}: {body[:EXCERPT].decode(errors='replace')}", http_status=status
    )


async def events_of(response: ClientResponse, limit: int) -> AsyncIterator[Event]:
    """The events of a stream until it ends; one that breaks off simply ends too."""
    import aiohttp  # loaded already: the client exists

    reader = EventReader(limit)
    try:
        async for chunk in response.content.iter_any():
            for event in reader.feed(chunk):
                yield event
    except (aiohttp.ClientError, OSError) as broken:
        log.debug("a stream broke off: %s", broken)


def _is_failure(body: bytes) -> bool:
    try:
        return isinstance(jsonrpc.decode(body), Failure)
    except WireError:
        return False


class Place:
    """Where we are in a stream: the last event seen, and how long the server wants us to stay away."""

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_seconds = STREAM_RETRY_SECONDS
        self.events = 0

    def note(self, event: Event) -> None:
        self.events += 1
        if event.id:
            self.last_id = event.id
        if event.retry is not None:
            self.retry_seconds = event.retry / 1000


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
            raise LinkClosed(self._words("cannot be reached", failed)) from None

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        import aiohttp  # loaded already: the client exists

        await self._context.__aexit__(kind, error, None)
        if isinstance(error, aiohttp.ClientError | OSError) and not isinstance(error, TimeoutError):
            raise LinkClosed(self._words("broke off", error)) from None

    def _words(self, what: str, error: BaseException) -> str:
        """Errors of the library name the whole address; ours do not."""
        shown = mask_url(self._url)
        return f"{shown} {what}: {str(error).replace(self._url, shown)}"

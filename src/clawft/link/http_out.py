"""A server behind Streamable HTTP: each message a POST, answered by JSON or by an event stream.

A link never retries a request by itself. It resumes a stream the server has asked it to come back to, which is not a
retry: the request stays the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
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
from clawft.link.patience import Patience
from clawft.wire import jsonrpc
from clawft.wire.correlate import Waiting
from clawft.wire.framing import DEFAULT_LIMIT
from clawft.wire.headers import encode_value
from clawft.wire.jsonrpc import Failure, Message, Notification, Request, Response
from clawft.wire.sse import Event, EventReader

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse, ClientSession

CONNECT_SECONDS = 10.0
EXCERPT = 300
MAX_RESUMES = 10
MAX_RETRY_SECONDS = 30.0
STREAM_RETRY_SECONDS = 1.0

ACCEPT = "application/json, text/event-stream"

log = logging.getLogger("clawft.link")


class HttpLink:
    kind: LinkKind = "http"

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, *, limit: int = DEFAULT_LIMIT) -> None:
        self._url = url
        self._configured = dict(headers or {})
        self._limit = limit
        self._ids: Waiting[None] = Waiting()
        self._session_id = ""
        self._revision = ""
        self._client: ClientSession | None = None
        self._listening: asyncio.Task[None] | None = None
        self._goodbyes: set[asyncio.Task[None]] = set()

    async def open(self, incoming: Incoming, lost: Lost) -> None:
        import aiohttp  # on first use: see above

        self._incoming = incoming
        self._lost = lost
        self._client = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            auto_decompress=True,
        )

    def settled(self, revision: str) -> None:
        self._revision = revision

    # ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def request(self, outgoing: Outgoing, patience: Patience | None = None) -> Response | Failure:
        id = self._ids.open(None)
        try:
            return await self._within(patience, self._request(id, outgoing))
        except (asyncio.CancelledError, RequestTimeout):
            if not outgoing.revision and outgoing.method != "initialize":
                self._aside(jsonrpc.notification("notifications/cancelled", b'{"requestId":%d}' % id))
            raise
        finally:
            self._ids.close(id)

    async def _within(self, patience: Patience | None, work: Awaitable[Response | Failure]) -> Response | Failure:
        if patience is None:
            return await work
        try:
            async with asyncio.timeout(None) as scope:
                patience.begin(lambda: scope.reschedule(0))
                return await work
        except TimeoutError:
            raise patience.timeout() from None
        finally:
            patience.end()

    async def _request(self, id: int, outgoing: Outgoing) -> Response | Failure:
        body = jsonrpc.request(id, outgoing.method, outgoing.params)
        async with self._post(body, outgoing) as response:
            await self._check(response)
            if outgoing.method == "initialize" and response.status < _ERROR_STATUS:
                self._session_id = response.headers.get("Mcp-Session-Id", "")
            if response.content_type == "text/event-stream":
                return await self._answer_in_stream(id, response, resumable=not outgoing.revision)
            answer = self._decode(await self._read(response))
        if isinstance(answer, Failure | Response) and answer.id in (b"%d" % id, jsonrpc.NULL):
            return answer
        raise LinkClosed(f"{self._url} answered with something else than the answer to our request")

    async def notify(self, method: str, params: bytes = b"") -> None:
        await self._post_aside(jsonrpc.notification(method, params))
        if method == "notifications/initialized":
            self._listening = asyncio.get_running_loop().create_task(self._listen())

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
            async with self._post(message, None) as response:
                if response.status >= _ERROR_STATUS:
                    log.warning("%s answered a notification with status %d", self._url, response.status)
        except LinkError as failed:
            log.warning("%s", failed)

    def _post(self, body: bytes, outgoing: Outgoing | None) -> _Exchange:
        return _Exchange(self._open_client(), "POST", self._url, self._headers(outgoing), body)

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
        if response.status < _ERROR_STATUS:
            return
        if response.status == 401:
            challenge = response.headers.get("WWW-Authenticate", "")
            raise NeedsAuth(f"{self._url} wants a login", challenge=challenge)
        if response.status == 404 and self._session_id:
            raise SessionLost(f"{self._url} has forgotten our session")
        if response.content_type != "application/json" or response.status == 403:
            raise await self._refused(response)

    async def _refused(self, response: ClientResponse) -> LinkRefused:
        excerpt = (await response.content.read(EXCERPT)).decode("utf-8", "replace")
        return LinkRefused(
            f"{self._url} answered with status {response.status}: {excerpt}", http_status=response.status
        )

    async def _read(self, response: ClientResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > self._limit:
                raise MessageTooLong(f"{self._url} sent more than {self._limit} bytes")
            parts.append(part)
        if response.status >= _ERROR_STATUS and not _is_failure(b"".join(parts)):
            text = b"".join(parts)[:EXCERPT].decode("utf-8", "replace")
            raise LinkRefused(
                f"{self._url} answered with status {response.status}: {text}", http_status=response.status
            )
        return b"".join(parts)

    def _decode(self, body: bytes) -> Message:
        try:
            return jsonrpc.decode(body)
        except WireError as wrong:
            raise LinkClosed(f"{self._url} sent something that is no message: {wrong}") from None

    async def _answer_in_stream(self, id: int, response: ClientResponse, *, resumable: bool) -> Response | Failure:
        """Read until our answer comes; come back to the stream where the server sends us away for a while."""
        place = _Place()
        answer = await self._read_stream(id, response, place)
        for _ in range(MAX_RESUMES):
            if answer is not None:
                return answer
            if not resumable or not place.last_id:
                break
            await asyncio.sleep(min(place.retry_seconds, MAX_RETRY_SECONDS))
            answer = await self._resume(id, place)
        raise LinkClosed(f"{self._url} ended the stream without an answer")

    async def _resume(self, id: int, place: _Place) -> Response | Failure | None:
        headers = {**self._headers(None), "Accept": "text/event-stream", "Last-Event-ID": place.last_id}
        async with _Exchange(self._open_client(), "GET", self._url, headers, None) as response:
            if response.status >= _ERROR_STATUS:
                raise await self._refused(response)
            return await self._read_stream(id, response, place)

    async def _read_stream(self, id: int | None, response: ClientResponse, place: _Place) -> Response | Failure | None:
        """Everything on the stream; ends with the answer to `id`, or None when the stream does."""
        reader = EventReader(self._limit)
        async for chunk in response.content.iter_any():
            for event in reader.feed(chunk):
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
        """Handshake era: hold a GET stream open where the server offers one."""
        place = _Place()
        while True:
            try:
                offered = await self._listen_once(place)
            except (LinkError, WireError) as failed:
                log.debug("the stream of %s: %s", self._url, failed)
                offered = True
            if not offered:
                return
            await asyncio.sleep(min(max(place.retry_seconds, STREAM_RETRY_SECONDS), MAX_RETRY_SECONDS))

    async def _listen_once(self, place: _Place) -> bool:
        headers = {**self._headers(None), "Accept": "text/event-stream"}
        if place.last_id:
            headers["Last-Event-ID"] = place.last_id
        async with _Exchange(self._open_client(), "GET", self._url, headers, None) as response:
            if response.status >= _ERROR_STATUS or response.content_type != "text/event-stream":
                return False
            await self._read_stream(None, response, place)
        return True

    async def close(self) -> None:
        """End the session where there is one; may be called twice."""
        if self._listening is not None:
            self._listening.cancel()
        client, self._client = self._client, None
        if client is None:
            return
        await asyncio.gather(*self._goodbyes, return_exceptions=True)
        if self._session_id:
            try:
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    async with _Exchange(client, "DELETE", self._url, self._headers(None), None):
                        pass
            except (LinkError, TimeoutError):
                log.debug("%s did not take our goodbye", self._url)
        await client.close()


_ERROR_STATUS = 400
_GOODBYE_SECONDS = 2.0


def _is_failure(body: bytes) -> bool:
    try:
        return isinstance(jsonrpc.decode(body), Failure)
    except WireError:
        return False


class _Place:
    """Where we are in a stream: the last event seen, and how long the server wants us to stay away."""

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_seconds = STREAM_RETRY_SECONDS

    def note(self, event: Event) -> None:
        if event.id:
            self.last_id = event.id
        if event.retry is not None:
            self.retry_seconds = event.retry / 1000


class _Exchange:
    """One HTTP exchange; what aiohttp raises becomes one of our own errors."""

    def __init__(
        self, client: ClientSession, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> None:
        self._context = client.request(method, url, headers=headers, data=body, allow_redirects=False)
        self._url = url

    async def __aenter__(self) -> ClientResponse:
        import aiohttp  # loaded already: the client exists

        try:
            response = await self._context.__aenter__()
        except (aiohttp.ClientError, OSError) as failed:
            raise LinkClosed(f"{self._url} cannot be reached: {failed}") from None
        return response

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        import aiohttp  # loaded already: the client exists

        await self._context.__aexit__(kind, error, None)
        if isinstance(error, aiohttp.ClientError):
            raise LinkClosed(f"{self._url} broke off: {error}") from None

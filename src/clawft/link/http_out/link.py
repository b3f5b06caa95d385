"""A server behind Streamable HTTP: each message a POST, answered by JSON or by an event stream.

A link never sends a call a second time by itself. It resumes a stream the server has asked it to come back to, and what
only asks about the server (`REPEATABLE`) is asked again where the connection it was sent on had just been closed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from clawft.errors import (
    LinkClosed,
    LinkError,
    MessageTooLong,
    NeedsAuth,
    RequestTimeout,
    SessionLost,
)
from clawft.link.base import Credentials, Incoming, LinkKind, Lost, OutgoingRequest, details_of, is_list, too_long
from clawft.link.deadline import Deadline, within
from clawft.link.faults import Faults
from clawft.link.first_id import before_first_id
from clawft.link.http_out.answer import (
    BAD_REQUEST,
    EXCERPT,
    NO_ANSWER_STATUS,
    NOT_FOUND,
    excerpt,
    forgotten,
    is_failure,
    is_lost_session,
    names_session,
    read_body,
    refusal,
)
from clawft.link.http_out.client import ASIDE_SECONDS, ClientLink, close_client, open_client
from clawft.link.http_out.events import EVENTS, MAX_RETRY_SECONDS, StreamPlace, events_of
from clawft.link.http_out.exchange import ClientExchange
from clawft.link.http_out.http_session import HttpSession
from clawft.link.http_out.messages import Messages
from clawft.link.http_out.notice_stream import NoticeStream
from clawft.link.share.turns import LinkSender
from clawft.wire.correlate import OpenRequests
from clawft.wire.framing import DEFAULT_LIMIT
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.messages import Failure, Response

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse, ClientSession

RESUME_SECONDS = 0.05
"""The least pause before a stream is resumed, whatever the server says."""
MAX_RESUMES = 10
"""How often a stream is resumed that brings nothing new. One that does may be resumed without end."""

REPEATABLE = frozenset(
    {
        *("server/discover", "initialize", "ping"),
        *("tools/list", "prompts/list", "resources/list", "resources/templates/list"),
    }
)
"""Methods that change nothing at the server, and may be sent twice."""

T = TypeVar("T")

log = logging.getLogger("clawft.link")


class HttpLink(ClientLink):
    kind: LinkKind = "http"

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
        super().__init__(url, headers, credentials, name=name, limit=limit, proxy=proxy)
        self._ids: OpenRequests[None] = OpenRequests(before_first_id())
        self._session = HttpSession(self._url, self._configured)
        self._listening = NoticeStream(self._url)
        self._gone = False
        self._sender = LinkSender()

    @property
    def faults(self) -> Faults:
        return super().faults.plus(Faults(broken=self._listening.broken))

    async def open(self, incoming: Incoming, lost: Lost) -> None:
        self._messages = Messages(self._url, self._received, incoming)
        self._lost = lost
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._client = open_client(self._proxy)

    def settled(self, revision: str) -> None:
        super().settled(revision)
        self._session.revision = revision

    # ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def request(self, outgoing: OutgoingRequest, deadline: Deadline | None = None) -> Response | Failure:
        id = self._ids.open(None)
        if deadline is not None:
            deadline.stream = id
        self._received.pending_lists += is_list(outgoing.method)
        try:
            return await within(deadline, self._request(id, outgoing))
        except (asyncio.CancelledError, RequestTimeout) as ended:
            if not outgoing.revision and outgoing.method != "initialize":
                self._send_soon(writing.cancelled(b"%d" % id, details_of(ended)))
            raise
        except (SessionLost, NeedsAuth) as gone:
            self._lose(gone)
            raise
        except LinkClosed as closed:
            self._received.note_end(closed)
            raise
        except MessageTooLong as long:
            self._received.long_events += 1
            raise long if long.hint else too_long(self._url, self._limit) from None
        finally:
            self._received.pending_lists -= is_list(outgoing.method)
            self._ids.close(id)

    def _lose(self, error: LinkError) -> None:
        """Tell, once, that the server will serve nothing more on this link."""
        if not self._gone and self._client is not None:
            self._gone = True
            self._lost(error)

    async def _request(self, id: int, outgoing: OutgoingRequest) -> Response | Failure:
        return await self._repeated(outgoing.method in REPEATABLE, partial(self._ask, id, outgoing))

    async def _repeated(self, harmless: bool, send: Callable[[], Awaitable[T]]) -> T:
        """Send again if the connection was just being closed by the server; the next one is new, see `keep_alive`."""
        try:
            return await send()
        except LinkClosed as closed:
            if not closed.without_response or not harmless:
                raise
        return await send()

    async def _ask(self, id: int, outgoing: OutgoingRequest) -> Response | Failure:
        body = writing.request(id, outgoing.method, outgoing.params)
        async with self._post(body, outgoing) as response:
            await self._check(response)
            if response.content_type == EVENTS:
                answer = await self._answer_in_stream(id, response, resumable=not outgoing.revision)
            else:
                is_error = response.status >= NO_ANSWER_STATUS
                answer = self._messages.answer(id, await self._read(id, response), refused=is_error)
            if outgoing.method == "initialize" and isinstance(answer, Response):
                self._session.read_id(response)
            return answer

    async def notify(self, method: str, params: bytes = b"") -> None:
        await self._send_quietly(writing.notification(method, params))
        if method == "notifications/initialized":
            await self._listening.start(self._listen_once, self._lose)

    async def answer(self, message: bytes) -> None:
        await self._send_quietly(message)

    def _send_soon(self, message: bytes) -> None:
        """Send it in a task of its own: whoever caused it does not wait."""
        task = asyncio.get_running_loop().create_task(self._send_quietly(message))
        self._goodbyes.add(task)
        task.add_done_callback(self._goodbyes.discard)

    async def _send_quietly(self, message: bytes) -> None:
        """Send a message that has no answer. An error status is noted, and not raised into a running call."""
        try:
            async with asyncio.timeout(ASIDE_SECONDS):
                await self._repeated(True, partial(self._post_once, message))
        except LinkError as failed:
            self._note(f"{self._url} did not accept a notification: {failed}")
        except TimeoutError:
            self._note(f"{self._url} did not accept a notification within {ASIDE_SECONDS:g} s")

    async def _post_once(self, message: bytes) -> None:
        async with self._post(message, None) as response:
            if response.status >= NO_ANSWER_STATUS:
                self._note(f"{self._url} answered a notification with status {response.status}")

    def _note(self, refused: str) -> None:
        self.refused_notice = refused
        log.warning("%s", refused)

    def _post(self, body: bytes, outgoing: OutgoingRequest | None) -> ClientExchange:
        return self._exchange(self._open_client(), "POST", self._target, self._session.headers(outgoing), body)

    def _open_client(self) -> ClientSession:
        if self._client is None or self._client.closed:
            raise LinkClosed(f"the link to {self._url} is closed")
        return self._client

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _check(self, response: ClientResponse) -> None:
        """Raise what the status means. With a JSON-RPC error in its body it is an answer like any other."""
        if response.status < NO_ANSWER_STATUS:
            return
        if response.status == 401:
            raise self._needs_auth(response)
        if response.status == 404 and self._session.id and response.content_type != "application/json":
            raise forgotten(self._url)
        if response.content_type != "application/json" or response.status == 403 or "Location" in response.headers:
            raise await self._refused(response)

    async def _refused(self, response: ClientResponse) -> LinkError:
        """The error for a status whose body is no answer. A 400 may mean that the session is gone."""
        body = await excerpt(response)
        is_doubtful = response.status == BAD_REQUEST and self._session.id and names_session(body)
        if is_doubtful and await self._is_forgotten():
            return forgotten(self._url)
        return refusal(self._url, response.status, body)

    async def _is_forgotten(self) -> bool:
        """Whether a ping is refused, too: one bad request proves no lost session, whatever the server says of it."""
        id = self._ids.open(None)
        try:
            async with asyncio.timeout(ASIDE_SECONDS), self._post(writing.request(id, "ping"), None) as response:
                body = await read_body(self._url, response, self._limit, self._sender)
                return is_lost_session(response.status, body, id)
        except (LinkError, TimeoutError):
            return False
        finally:
            self._ids.close(id)

    async def _read(self, id: int, response: ClientResponse) -> bytes:
        body = await read_body(self._url, response, self._limit, self._sender)
        is_doubtful = self._session.id and is_lost_session(response.status, body, id)
        if is_doubtful and (response.status == NOT_FOUND or await self._is_forgotten()):
            raise forgotten(self._url)
        if response.status >= NO_ANSWER_STATUS and not is_failure(body):
            raise refusal(self._url, response.status, body)
        return body

    async def _answer_in_stream(self, id: int, response: ClientResponse, *, resumable: bool) -> Response | Failure:
        """Read the stream until our answer comes, and resume it where the server closes it before that."""
        place = StreamPlace()
        answer = await self._read_stream(id, response, place)
        idle = 0
        while answer is None and resumable and place.last_id and idle < MAX_RESUMES:
            await self._wait_to_resume(min(max(place.retry_seconds, RESUME_SECONDS), MAX_RETRY_SECONDS))
            before = place.news
            answer = await self._resume(id, place)
            idle = 0 if place.news > before else idle + 1
        if answer is None:
            self._open_client()
            raise LinkClosed(f"{self._url} ended the stream without a response{_in_vain(idle)}")
        return answer

    async def _wait_to_resume(self, seconds: float) -> None:
        """Wait before resuming. Raises LinkClosed if the link is closed meanwhile."""
        await asyncio.wait({self._closed}, timeout=seconds)
        self._open_client()

    async def _resume(self, id: int, place: StreamPlace) -> Response | Failure | None:
        headers = self._session.stream_headers(place.last_id)
        async with self._exchange(self._open_client(), "GET", self._target, headers, None) as response:
            if response.status == 404 and self._session.id:
                raise forgotten(self._url)
            if response.status >= NO_ANSWER_STATUS:
                raise await self._refused(response)
            return await self._read_stream(id, response, place)

    async def _read_stream(
        self, id: int | None, response: ClientResponse, place: StreamPlace
    ) -> Response | Failure | None:
        """Read the stream up to the answer to `id`; None if the stream ends without it."""
        async for event in events_of(response, self._limit, self._received.throttle, self._sender):
            place.note(event)
            began = time.monotonic()
            answer = self._messages.answer_in(event, id)
            if answer is not None:
                return answer
            if pause := self._received.throttle.pause_after(len(event.data), began):
                await asyncio.sleep(pause)
        return None

    async def _listen_once(self, place: StreamPlace) -> bool:
        """Read the stream for messages that belong to no request, to its end; False if the server has none."""
        headers = self._session.stream_headers(place.last_id)
        async with self._exchange(self._open_client(), "GET", self._target, headers, None) as response:
            self._listening.heard_of.set()
            if self._session.id and place.was_open and await self._is_gone(response):  # else there is no such stream
                raise forgotten(self._url)
            if response.status >= NO_ANSWER_STATUS or response.content_type != EVENTS:
                return False
            place.was_open = True
            await self._read_stream(None, response, place)
        return True

    async def _is_gone(self, response: ClientResponse) -> bool:
        """Whether the answer to a GET says that the session is gone."""
        if response.status == BAD_REQUEST:
            return names_session(await response.content.read(EXCERPT))
        return response.status == NOT_FOUND

    async def close(self) -> None:
        """End the session where there is one, fail what is in flight; may be called twice."""
        client, self._client = self._client, None
        try:
            await self._listening.stop()
        finally:
            if client is not None:
                await self._leave(client)

    async def _leave(self, client: ClientSession) -> None:
        self._closed.set_result(None)
        leaving = {*self._goodbyes, asyncio.get_running_loop().create_task(self._say_goodbye(client))}
        await close_client(client, leaving)
        self._messages.let_go()
        self._lost = _ignore_loss  # a cycle would keep the link in memory

    async def _say_goodbye(self, client: ClientSession) -> None:
        if not self._session.id or self._gone:
            return
        try:
            async with self._exchange(client, "DELETE", self._target, self._session.headers(), None):
                pass
        except LinkError:
            log.debug("%s did not confirm the end of the session", self._url)


def _ignore_loss(error: LinkError) -> None:
    pass


def _in_vain(resumed: int) -> str:
    return f", and {resumed} times in a row it had nothing new where it told us to come back" if resumed else ""

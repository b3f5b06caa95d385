"""A server behind HTTP+SSE of 2024: one stream that carries everything to us, and a place to post to.

Tried only after both newer forms failed. The stream is the session: when it ends, the link is lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from clawft.errors import (
    LinkClosed,
    LinkError,
    LinkRefused,
    MessageTooLong,
    WireError,
)
from clawft.link.base import Incoming, LinkKind, Lost, OutgoingRequest, details_of, is_list, too_long
from clawft.link.deadline import Deadline, within
from clawft.link.first_id import before_first_id
from clawft.link.http_out.answer import (
    NO_ANSWER_STATUS,
    answers,
    excerpt,
    is_page,
    no_message,
    read_body,
    refusal,
)
from clawft.link.http_out.client import ASIDE_SECONDS, CONNECT_SECONDS, ClientLink, close_client, open_client
from clawft.link.http_out.events import EVENTS, events_of
from clawft.link.share.turns import LinkSender
from clawft.wire.correlate import OpenAnswers
from clawft.wire.jsonrpc import reading, writing
from clawft.wire.jsonrpc.batches import unpacked
from clawft.wire.jsonrpc.likely import likely_answer
from clawft.wire.jsonrpc.messages import Failure, Response
from clawft.wire.jsonrpc.unreadable import fail_answered, fail_long, salvage
from clawft.wire.sse import TOO_LONG, SseEvent

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse, ClientSession

Awaited = tuple[int, "asyncio.Future[Response | Failure]"]
"""The id of a request, and whoever waits for the answer."""
MAX_ENDPOINT = 8 * 1024
"""Characters of the place to post to."""

log = logging.getLogger("clawft.link")


class SseLink(ClientLink):
    kind: LinkKind = "sse"
    _stream: asyncio.Task[None] | None = None
    _broken: LinkError | None = None

    async def open(self, incoming: Incoming, lost: Lost) -> None:
        """Ready when the server has said where to post to."""
        self._loop = asyncio.get_running_loop()
        self._incoming = incoming
        self._lost = lost
        self._waiting: OpenAnswers[Response | Failure] = OpenAnswers(before_first_id())
        self._client = open_client(self._proxy)
        self._sender = LinkSender()
        self._endpoint: asyncio.Future[str] = self._loop.create_future()
        self._stream = self._loop.create_task(self._run())
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._endpoint
        except TimeoutError:
            raise LinkClosed(f"{self._url} did not name its endpoint within {CONNECT_SECONDS:g} s") from None

    # ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def request(self, outgoing: OutgoingRequest, deadline: Deadline | None = None) -> Response | Failure:
        waiter: asyncio.Future[Response | Failure] = self._loop.create_future()
        id = self._waiting.open(waiter)
        self._received.pending_lists += is_list(outgoing.method)
        try:
            message = writing.request(id, outgoing.method, outgoing.params)
            return await within(deadline, self._ask(id, message, waiter))
        except BaseException as ended:
            if isinstance(ended, LinkClosed) and ended is not self._broken:
                self._received.note_end(ended)
            if self._broken is None and outgoing.method != "initialize":
                self._aside(writing.cancelled(b"%d" % id, details_of(ended)))
            raise
        finally:
            self._received.pending_lists -= is_list(outgoing.method)
            self._waiting.close(id)
            waiter.cancel()

    async def _ask(self, id: int, message: bytes, waiter: asyncio.Future[Response | Failure]) -> Response | Failure:
        """Ask, and wait for the answer on the stream or for its end; the POST may never be answered."""
        posting = self._loop.create_task(self._post(message, (id, waiter)))
        self._keep(posting)
        try:
            await asyncio.wait({posting, waiter}, return_when=asyncio.FIRST_COMPLETED)
            if not waiter.done():
                await posting
            answer = await waiter
        except BaseException:
            posting.cancel()
            raise
        if not posting.done():
            self._loop.call_later(ASIDE_SECONDS, posting.cancel)
        return answer

    async def notify(self, method: str, params: bytes = b"") -> None:
        await self._post_aside(writing.notification(method, params))

    async def answer(self, message: bytes) -> None:
        await self._post_aside(message)

    def _aside(self, message: bytes) -> None:
        """Send it while whoever caused it is already leaving."""
        self._keep(self._loop.create_task(self._post_aside(message)))

    def _keep(self, task: asyncio.Task[None]) -> None:
        """Until it is done; whoever waits for it hears what went wrong, and nobody else has to."""
        self._goodbyes.add(task)
        task.add_done_callback(self._let_go)

    def _let_go(self, task: asyncio.Task[None]) -> None:
        self._goodbyes.discard(task)
        if not task.cancelled():
            task.exception()

    async def _post_aside(self, message: bytes) -> None:
        try:
            async with asyncio.timeout(ASIDE_SECONDS):
                await self._post(message)
        except (LinkError, TimeoutError) as failed:
            self.refused_notice = f"{self._url} did not accept a notification: {failed}"
            log.warning("%s", self.refused_notice)

    async def _post(self, message: bytes, awaited: Awaited | None = None) -> None:
        """`awaited` is the answer to a request, which some servers give right here."""
        if self._broken is not None or self._client is None:
            raise self._broken or LinkClosed(f"the link to {self._url} is closed")
        headers = {**self._configured, "Content-Type": "application/json"}
        async with self._exchange(self._client, "POST", self._endpoint.result(), headers, message) as response:
            await self._check(response)
            if awaited is not None and not awaited[1].done():
                await self._take_reply(*awaited, response)

    async def _take_reply(self, id: int, waiter: asyncio.Future[Response | Failure], response: ClientResponse) -> None:
        """An answer belongs on the stream; one that comes here counts as well. Most of what comes is but a nod."""
        waiter.add_done_callback(lambda _: response.close())  # whatever else would follow
        if response.content_type == EVENTS:
            async for event in events_of(response, self._limit, self._received.throttle, self._sender):
                self._take_answer(id, event.data.encode())
        else:
            self._take_answer(id, await self._read_reply(response))

    async def _read_reply(self, response: ClientResponse) -> bytes:
        import aiohttp  # loaded already: the client exists

        try:
            return await read_body(self._url, response, self._limit, self._sender)
        except (aiohttp.ClientError, OSError):
            return b""  # the stream may tell more

    def _take_answer(self, id: int, body: bytes) -> None:
        try:
            message = reading.decode(body)
        except WireError as wrong:
            if is_page(body) or likely_answer(body) == b"%d" % id:
                self._received.bad_events += 1
                raise no_message(self._url, body, wrong) from None
            return
        if isinstance(message, Response | Failure) and not answers(message, id):
            self._received.unasked += 1
        elif isinstance(message, Response | Failure):
            self._waiting.fill(b"%d" % id, message)

    async def _check(self, response: ClientResponse) -> None:
        if response.status == 401:
            raise self._needs_auth(response)
        if response.status >= NO_ANSWER_STATUS:
            raise refusal(self._url, response.status, await excerpt(response))

    # ── the stream ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _run(self) -> None:
        """Everything the server says, until it stops; whoever waits then hears why."""
        try:
            await self._read()
            error = LinkClosed(f"{self._url} ended its stream")
        except (LinkError, WireError) as failed:
            error = failed if isinstance(failed, LinkError) else LinkClosed(f"{self._url}: {failed}")
        self._end(error)

    async def _read(self) -> None:
        headers = {**self._configured, "Accept": EVENTS}
        async with self._exchange(self._open_client(), "GET", self._target, headers, None) as response:
            await self._check(response)
            if response.content_type != EVENTS:
                raise LinkRefused(f"{self._url} offers no event stream", http_status=response.status)
            async for event in events_of(response, self._limit, self._received.throttle, self._sender, skips=True):
                began = time.monotonic()
                if not self._take(event) and (pause := self._received.throttle.pause_after(len(event.data), began)):
                    await asyncio.sleep(pause)

    def _open_client(self) -> ClientSession:
        if self._client is None:
            raise LinkClosed(f"the link to {self._url} is closed")
        return self._client

    def _take(self, event: SseEvent) -> bool:
        """Whether somebody waited for it."""
        if event.event == "endpoint":
            self._take_endpoint(event.data)
        if event.event == TOO_LONG:
            self._spoil(event.data.encode(), too_long(self._url, self._limit))
        return event.event == "message" and event.data != "" and self._take_message(event.data.encode())

    def _take_endpoint(self, place: str) -> None:
        """Said once, and on the same origin: our headers go nowhere else."""
        if len(place) > MAX_ENDPOINT or not is_same_origin(self._target, place):
            raise LinkClosed(f"{self._url} names an endpoint on another origin: {place[:200]}")
        if not self._endpoint.done():
            self._endpoint.set_result(urljoin(self._target, place))

    def _take_message(self, data: bytes) -> bool:
        try:
            message = reading.decode(data)
        except WireError as wrong:
            members = unpacked(data)
            if members and self._received.batches:
                awaited = [self._take_message(member) for member in members]
                return any(awaited)
            if self._received.pending_lists and salvage(data, self._waiting):
                return True
            self._received.note_bad_event(wrong)
            fail_answered(data, members, self._waiting, wrong)
            return False
        if not isinstance(message, Response | Failure):
            self._incoming(message, None)
            return False
        return self._give(message)

    def _give(self, message: Response | Failure) -> bool:
        dropped = self._waiting.dropped
        take = self._waiting.take if isinstance(message, Response) else self._waiting.take_failed
        waiter = take(message.id)
        self._received.unasked += self._waiting.dropped - dropped
        if waiter is None or waiter.done():
            return False
        waiter.set_result(message)
        return True

    def _spoil(self, head: bytes, error: MessageTooLong) -> None:
        """Count an event that was too long, and fail the request that it may have answered."""
        self._received.long_events += 1
        if head:
            fail_long(head, self._waiting, error)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _end(self, error: LinkError) -> None:
        if self._broken is not None:
            return
        self._broken = error
        if isinstance(error, LinkClosed):
            self._received.note_end(error)
        self._waiting.fail_all(error)
        if self._endpoint.done():
            self._lost(error)
        else:
            self._endpoint.set_exception(error)

    async def close(self) -> None:
        """Closing the stream ends the session; may be called twice."""
        client, self._client = self._client, None
        if client is None:
            return
        if self._broken is None:
            self._broken = LinkClosed(f"the link to {self._url} was closed because it is being stopped or reconnected")
        self._waiting.fail_all(self._broken)
        leaving = set(self._goodbyes)
        if self._stream is not None:
            self._stream.cancel()
            leaving.add(self._stream)
        await close_client(client, leaving)


def is_same_origin(url: str, place: str) -> bool:
    """Whether `place`, seen from `url`, is at the same origin, for the same user."""
    try:
        return _origin(urljoin(url, place)) == _origin(url)
    except ValueError:  # no address at all
        return False


def _origin(url: str) -> tuple[str, str, str | None, int | None]:
    """As whoever connects reads it."""
    from yarl import URL  # comes with aiohttp, and so late

    read = URL(url)
    return read.scheme, read.raw_authority.rpartition("@")[0], read.raw_host, read.port

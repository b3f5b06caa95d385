"""HTTP over ASGI: reading one request's body and sending one answer. Knows nothing of MCP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from typing import Any, cast

from clawft.errors import LinkClosed, MessageTooLong
from clawft.link.share.admission import LARGE_REQUESTS, too_slow
from clawft.link.share.byte_limits import Reservation

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

MAX_BODY = 4 * 1024 * 1024
WATCH_AFTER_SECONDS = 0.02
"""While an answer takes longer than this, we watch whether the caller disconnects."""

JSON: Header = (b"content-type", b"application/json")
TEXT: Header = (b"content-type", b"text/plain; charset=utf-8")
EVENTS: tuple[Header, ...] = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
    (b"connection", b"close"),
)


async def read_body(receive: Receive, limit: int = MAX_BODY) -> bytes:
    """The whole body. Raises MessageTooLong above the limit, LinkClosed if the caller leaves."""
    message = await receive()
    if message["type"] != "http.request" or message.get("more_body"):
        return await _read_parts(message, receive, limit, None)
    return within(limit, cast("bytes", message.get("body", b"")))


async def read_large(receive: Receive, limit: int, reservation: Reservation) -> bytes:
    """The whole body of a large request. Raises Busy if it is more than we can take, or comes too slowly for that."""
    try:
        async with asyncio.timeout(None) as timeout:
            with LARGE_REQUESTS.receiving(reservation, timeout):
                return await _read_parts(await receive(), receive, limit, reservation)
    except TimeoutError:
        raise too_slow() from None


def within(limit: int, body: bytes) -> bytes:
    """The body; raises MessageTooLong above the limit."""
    if len(body) > limit:
        raise _too_long(limit)
    return body


async def _read_parts(
    message: MutableMapping[str, Any], receive: Receive, limit: int, reservation: Reservation | None
) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise LinkClosed("the caller disconnected before its request was complete")
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_long(limit)
        if reservation is not None:
            reservation.count_received(len(part))
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def _too_long(limit: int) -> MessageTooLong:
    return MessageTooLong(f"the body is longer than {limit} bytes", hint="send less, or raise gateway.max_body")


async def answer(send: Send, status: int, body: bytes = b"", headers: Sequence[Header] = ()) -> None:
    """Send a whole answer."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": (*headers, length)})
    await send({"type": "http.response.body", "body": body})


async def stream(send: Send, frames: AsyncIterator[bytes], headers: Sequence[Header] = ()) -> None:
    """Send an event stream, until the frames end."""
    await send({"type": "http.response.start", "status": 200, "headers": [*EVENTS, *headers]})
    async for frame in frames:
        await send({"type": "http.response.body", "body": frame, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class Watch:
    """Notices when the caller leaves before it has its answer. Costs a timer; a task only for slow answers."""

    def __init__(self, receive: Receive, gone: Callable[[], object]) -> None:
        self._receive = receive
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(WATCH_AFTER_SECONDS, self._start)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._wait())

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone()

    def stop(self) -> None:
        """Stop watching, and drop the task: its traceback would keep us alive, and whatever the callback refers to."""
        self._timer.cancel()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

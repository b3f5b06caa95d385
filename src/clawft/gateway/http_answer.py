"""One request over HTTP: answered with JSON, or with an event stream once there is something to stream before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from clawft.gateway.running import Running
from clawft.gateway.streams import EventStream
from clawft.link import asgi
from clawft.link.asgi import JSON, Receive, Send, Watch


def always_ok(answer: bytes) -> int:
    return 200


class HttpAnswer:
    """The way back for one request. `status` gives an answer's HTTP status; `gone` is told when the caller leaves."""

    def __init__(
        self,
        stream: EventStream,
        receive: Receive,
        send: Send,
        status: Callable[[bytes], int] = always_ok,
        gone: Callable[[], object] = lambda: None,
    ) -> None:
        self._stream = stream
        self._receive = receive
        self._send = send
        self._status = status
        self._gone = gone
        self._answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        stream.on_open = self._turn_into_stream

    async def serve(self, running: Running, key: bytes, work: Coroutine[None, None, bytes], id: bytes = b"") -> None:
        """Run the work and send its answer, unless the caller leaves or cancels it."""
        task = running.start(key, work, self._deliver, id)
        if task is not None:
            task.add_done_callback(self._give_up)
        watch = Watch(self._receive, self._left)
        try:
            await self._send_answer()
        except asyncio.CancelledError:
            if not self._answer.cancelled():
                raise
        finally:
            watch.stop()

    async def _send_answer(self) -> None:
        message = await self._answer
        if message is None:
            await asgi.stream(self._send, self._stream.read())
        elif not message:
            await asgi.answer(self._send, 202)  # cancelled: nothing more is said about it, but HTTP wants an end
        else:
            await asgi.answer(self._send, self._status(message), message, [JSON])

    def _deliver(self, message: bytes) -> None:
        if self._stream.opened:
            self._stream.finish(message)
        elif not self._answer.done():
            self._answer.set_result(message)

    def _turn_into_stream(self) -> None:
        if not self._answer.done():
            self._answer.set_result(None)

    def _give_up(self, task: asyncio.Task[None]) -> None:
        """The work ended without an answer: it was cancelled."""
        if self._stream.opened:
            self._stream.end()
        elif not self._answer.done():
            self._answer.set_result(b"")

    def _left(self) -> None:
        self._gone()
        self._stream.detach()
        if not self._answer.done():
            self._answer.cancel()

"""POSTs of the stateless era: each stands alone, and leaving means cancelling."""

from __future__ import annotations

import itertools

from clawft.errors import BadEnvelope, ClawftError
from clawft.gateway.core import Gateway
from clawft.gateway.exchange import Exchange
from clawft.gateway.http_answer import HttpAnswer
from clawft.gateway.running import Running, answered
from clawft.gateway.streams import EventStream
from clawft.link import asgi
from clawft.link.asgi import JSON, Receive, Send
from clawft.model import Caller
from clawft.wire import headers as headers_of
from clawft.wire import jsonrpc, stateless
from clawft.wire.codes import status_of
from clawft.wire.jsonrpc import Message, Notification, Request

MAX_IN_FLIGHT = 4_096


class StatelessDoor:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.running = Running(MAX_IN_FLIGHT)
        self._keys = itertools.count(1)

    async def post(
        self,
        message: Message | None,
        body: bytes,
        headers: list[tuple[bytes, bytes]],
        caller: Caller,
        receive: Receive,
        send: Send,
    ) -> None:
        if isinstance(message, Notification):
            await asgi.answer(send, 202)  # nothing a notification could do without a session
        elif isinstance(message, Request):
            await self._request(message, headers, caller, receive, send)
        else:
            await _refuse(
                send, None, BadEnvelope("send one request or notification; clients of this era send no answers")
            )

    async def _request(
        self, request: Request, headers: list[tuple[bytes, bytes]], base: Caller, receive: Receive, send: Send
    ) -> None:
        exchange = Exchange(self._gateway, base)
        try:
            caller, told = exchange.read(request, headers_of.routing_headers(headers))
        except ClawftError as wrong:
            await _refuse(send, request.id, wrong)
            return
        stream = EventStream()
        work = answered(request.id, exchange.answer(request, caller, told, stream), stateless.error_code)
        key = b"%d" % next(self._keys)  # ids of different callers may be equal
        back = HttpAnswer(stream, receive, send, status_of, gone=lambda: self.running.cancel(key))
        await back.serve(self.running, key, work, request.id)

    async def drain(self, grace: float) -> None:
        await self.running.drain(grace)


async def _refuse(send: Send, id: bytes | None, error: ClawftError) -> None:
    await asgi.answer(send, error.status, jsonrpc.failure_of(id, error), [JSON])

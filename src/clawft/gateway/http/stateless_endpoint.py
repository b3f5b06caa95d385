"""The stateless era over HTTP: each POST stands alone, and disconnecting cancels it."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable
from functools import partial

from clawft.errors import BadEnvelope, ClawftError, HeaderMismatch
from clawft.gateway.core import Gateway
from clawft.gateway.exchange import AdmittedRequest, Exchange
from clawft.gateway.http.answer import LoneAnswer
from clawft.gateway.http.authorized_request import AuthorizedRequest
from clawft.gateway.object_memo import ObjectMemo
from clawft.gateway.running_requests import RunningRequests
from clawft.link import asgi
from clawft.link.asgi import JSON, Send
from clawft.wire import stateless
from clawft.wire.calls import UsualCall
from clawft.wire.headers import Headers
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.messages import Message, Notification, Request

MAX_IN_FLIGHT = 4_096
MAX_PRINCIPALS = 64
"""How many are remembered, with what their clients say of themselves."""
LISTEN = "subscriptions/listen"


class StatelessEndpoint:
    def __init__(self, gateway: Gateway) -> None:
        self.running = RunningRequests(MAX_IN_FLIGHT)
        self._exchanges = ObjectMemo(partial(Exchange, gateway), MAX_PRINCIPALS)
        self._keys = itertools.count(1)

    def post(self, http: AuthorizedRequest, message: Message) -> Awaitable[None]:
        if isinstance(message, Request):
            return self._request(http, message)
        if isinstance(message, Notification):
            return asgi.answer(http.send, 202)  # nothing a notification could do without a session
        wrong = BadEnvelope("send one request or notification; clients of this era send no answers")
        return _refuse(http.send, None, wrong)

    def _request(self, http: AuthorizedRequest, request: Request) -> Awaitable[None]:
        exchange = self._exchanges.of(http.caller)
        if request.method == LISTEN:
            http.listen()
        try:
            return self._answer(http, request.id, exchange, exchange.read(request, _routing(http)))
        except ClawftError as wrong:
            return _refuse(http.send, request.id, wrong)

    def call(self, http: AuthorizedRequest, usual: UsualCall) -> Awaitable[None] | None:
        """The answer to a usual tools/call; None if it has to be read like any other request."""
        exchange = self._exchanges.of(http.caller)
        try:
            admitted = exchange.read_usual(usual, http.headers, http.checks.route)
        except ClawftError as wrong:
            return _refuse(http.send, usual.id, wrong)
        return None if admitted is None else self._answer(http, usual.id, exchange, admitted)

    def _answer(
        self, http: AuthorizedRequest, id: bytes, exchange: Exchange, admitted: AdmittedRequest
    ) -> Awaitable[None]:
        key = b"%d" % next(self._keys)  # ids of different callers may be equal
        back = LoneAnswer(http, self.running, key)
        return back.serve(id, exchange.answer(admitted, back), stateless.error_code)

    async def drain(self, grace: float) -> None:
        await self.running.drain(grace)


def _routing(http: AuthorizedRequest) -> Headers:
    if http.checks.repeated:
        raise HeaderMismatch(f"the header {http.checks.repeated} occurs twice")
    return http.headers


async def _refuse(send: Send, id: bytes | None, error: ClawftError) -> None:
    await asgi.answer(send, error.status, writing.failure_of(id, error), [JSON])

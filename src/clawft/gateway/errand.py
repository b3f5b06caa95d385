"""Calls that no task waits for.

Most calls of a server's tools need nothing but one message there and its answer back. To start a task for each, and to
wake it up again, would cost more than all guards together. So where every guard lets a call pass at once, and its
provider can send it on its way, the answer itself ends the call. What turns out to need more goes on in a worker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from clawft.gateway.core import Gateway
from clawft.gateway.dispatch import CallTarget
from clawft.gateway.reply import may_name
from clawft.gateway.running_requests import CodeOf, Deliver, Job, RunningRequests, Work, failure_of
from clawft.model import Call, Caller, Next, Reply, SentErrand, Shortcut, Talk
from clawft.wire.jsonrpc import writing

_clock = time.perf_counter

Shape = Callable[[Reply], bytes]
"""The bare result in the caller's dialect."""
Follow = Callable[[Callable[[], Awaitable[Reply]]], Work]
"""The bare result, as work for a worker: of a reply that has to be waited for."""


class Errands:
    """Those of one conversation."""

    def __init__(
        self, gateway: Gateway, running: RunningRequests, shape: Shape, follow: Follow, code_of: CodeOf
    ) -> None:
        self.gateway = gateway
        self.find = gateway.tools.find
        self.shared = gateway.shared
        self.running = running
        self.shape = shape
        self.follow = follow
        self.code_of = code_of

    def start(self, id: bytes, caller: Caller, target: CallTarget, talk: Talk, deliver: Deliver) -> bool:
        """False if this call has to go the long way; nothing has happened then."""
        name = target.name
        entry = self.find(name, caller)
        short = entry.shortcut if entry is not None else None
        if entry is None or short is None or self.running.refusal(id) is not None:
            return False
        call = Call(caller, entry.canonical, entry.tool, entry.origin, target.arguments, target.meta, talk, name)
        for passes in short.passes:
            if not passes(call):
                return False
        errand = Errand(self, id, call, short, deliver)
        errand.sent = short.start(call, errand)
        if errand.sent is None:
            return False
        self.gateway.calls += 1
        self.running.add(errand)
        return True


class Errand(Job):
    """One of them: ended by its answer, or by whoever cancels it."""

    __slots__ = ("_all", "_began", "_call", "_short", "sent")

    sent: SentErrand | None
    """Its way to cancel it; None as soon as it is over, or a matter of workers."""

    def __init__(self, all: Errands, id: bytes, call: Call, short: Shortcut, deliver: Deliver) -> None:
        self.key = self.id = id
        self.deliver = deliver
        self.cancelled = False
        self._all = all
        self._call = call
        self._short = short
        self._began = _clock()

    def replied(self, reply: Reply) -> None:
        if self._all.shared.any and self._names_shared(reply):
            self.goes_on(partial(_as_it_came, reply))
            return
        self.sent = None
        self._all.running.forget(self)
        try:
            reply = self._short.finish(self._call, reply)
            self._short.witness.noted(self._call, self._began, reply)
            answer = writing.result(self.id, self._all.shape(reply))
        except Exception as broken:  # noqa: BLE001 - exactly one answer, whatever breaks
            answer = failure_of(self.id, broken, self._all.code_of)
        self.deliver(answer)

    def _names_shared(self, reply: Reply) -> bool:
        """Perhaps; then there is more to do than an answer."""
        spelled = self._all.shared.spelled(self._call.origin, self._call.caller)
        return spelled is not None and may_name(reply)

    def goes_on(self, rest: Next) -> None:
        self.sent = self.task = None
        self.code_of = self._all.code_of
        self.work = self._all.follow(partial(self._all.gateway.go_on, self._call, self._short, self._began, rest))
        self._all.running.queue(self)

    def cancel(self, beside: bytes = b"") -> None:
        if self.sent is None:
            super().cancel(beside)
        elif not self.cancelled:
            self.cancelled = True
            self.sent.cancel(beside)
            self.sent = None
            self._short.witness.noted(self._call, self._began, asyncio.CancelledError())
            self._all.running.forget(self)
            self.deliver(self._all.running.last_word(self))


async def _as_it_came(reply: Reply, _: Call) -> Reply:
    return reply

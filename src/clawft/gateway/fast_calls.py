"""The fast path: calls that no task waits for.

Most calls of a server's tools need nothing but one message to the server and its answer. Starting a task for each, and
waking it up again, would cost more than all guards together. So where every guard lets a call pass at once and its
provider can send it without waiting, the answer itself ends the call. A call that turns out to need more continues in
a worker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from clawft.gateway.core import Gateway
from clawft.gateway.dispatch import CallTarget
from clawft.gateway.reply import may_name
from clawft.gateway.running_requests import Deliver, Job, RunningRequests, Work, failure_of
from clawft.model import Call, Caller, FastPath, Next, Reply, SentCall, Talk
from clawft.wire.handshake import error_code
from clawft.wire.jsonrpc import writing

_clock = time.perf_counter

Shape = Callable[[Reply], bytes]
"""The bare result of a reply in the caller's dialect."""
Follow = Callable[[Callable[[], Awaitable[Reply]]], Work]
"""The work that waits for a reply and gives its bare result."""


class FastCalls:
    """Starts the fast calls of one conversation."""

    def __init__(self, gateway: Gateway, running: RunningRequests, shape: Shape, follow: Follow) -> None:
        self.gateway = gateway
        self.find = gateway.tools.find
        self.shared = gateway.shared
        self.running = running
        self.shape = shape
        self.follow = follow

    def start(self, id: bytes, caller: Caller, target: CallTarget, talk: Talk, deliver: Deliver) -> bool:
        """Send the call to its provider. False if it needs the slow path; then nothing has happened yet."""
        name = target.name
        entry = self.find(name, caller)
        fast = entry.fast_path if entry is not None else None
        if entry is None or fast is None or self.running.refusal(id) is not None:
            return False
        call = Call(caller, entry.canonical, entry.tool, entry.origin, target.arguments, target.meta, talk, name)
        for passes in fast.passes:
            if not passes(call):
                return False
        started = FastCall(self, id, call, fast, deliver)
        started.sent = fast.start(call, started)
        if started.sent is None:
            return False
        self.gateway.calls += 1
        self.running.add(started)
        return True


class FastCall(Job):
    """One call without a task: its answer ends it, or whoever cancels it."""

    __slots__ = ("_began", "_call", "_calls", "_path", "sent")

    sent: SentCall | None
    """Cancels the call at its provider; None once the call is over or a worker has taken it."""

    def __init__(self, calls: FastCalls, id: bytes, call: Call, path: FastPath, deliver: Deliver) -> None:
        self.key = self.id = id
        self.deliver = deliver
        self.cancelled = False
        self._calls = calls
        self._call = call
        self._path = path
        self._began = _clock()

    def finish_with(self, reply: Reply) -> None:
        if self._calls.shared.any and self._may_name_shared_uris(reply):
            self.continue_with(partial(_as_it_came, reply))
            return
        self.sent = None
        self._calls.running.forget(self)
        try:
            reply = self._path.finish(self._call, reply)
            self._path.witness.noted(self._call, self._began, reply)
            answer = writing.result(self.id, self._calls.shape(reply))
        except Exception as broken:  # noqa: BLE001 - exactly one answer, whatever breaks
            answer = failure_of(self.id, broken, error_code)
        self.deliver(answer)

    def _may_name_shared_uris(self, reply: Reply) -> bool:
        """Whether URIs in the reply may have to be respelled for this caller, which takes a worker."""
        spelled = self._calls.shared.spelled(self._call.origin, self._call.caller)
        return spelled is not None and may_name(reply)

    def continue_with(self, rest: Next) -> None:
        self.sent = self.task = None
        self.code_of = error_code
        run = partial(self._calls.gateway.finish_slowly, self._call, self._path, self._began, rest)
        self.work = self._calls.follow(run)
        self._calls.running.queue(self)

    def cancel(self, details: bytes = b"") -> None:
        if self.sent is None:
            super().cancel(details)
        elif not self.cancelled:
            self.cancelled = True
            self.sent.cancel(details)
            self.sent = None
            self._path.witness.noted(self._call, self._began, asyncio.CancelledError())
            self._calls.running.forget(self)
            self.deliver(self._calls.running.last_word(self))


async def _as_it_came(reply: Reply, _: Call) -> Reply:
    return reply

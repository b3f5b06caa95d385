"""Calls that need one message to the server and one answer, without an asyncio task to wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clawft.errors import ClawftError, LinkError, ProtocolFailure
from clawft.link.share.large_messages import is_cheap
from clawft.model import Call, Reply, ReplyReceiver
from clawft.provider.server import relay
from clawft.upstream.flights import Flight
from clawft.wire.jsonrpc.messages import Failure, Response

if TYPE_CHECKING:  # which starts them
    from clawft.provider.server.call.server_calls import CallTemplate, PlainRoute

CallEnd = Response | Failure | ClawftError


class PlainCall(Flight):
    """A call that is sent when it is made, and is the waiter of its own answer (see `wire.correlate.Waiter`)."""

    _over = False
    _token: int | None = None
    """The progress token we sent, if the caller wants progress."""

    def __init__(self, call: Call, template: CallTemplate, route: PlainRoute, receiver: ReplyReceiver) -> None:
        self.call = call
        self.route = route
        self._what = call.tool.name
        self._seconds = template.seconds
        self._hard = template.hard_seconds
        self._receiver = receiver
        self._id = self._post(template.head, call.meta)
        route.upstream.flights[self] = None
        self.begin(_no_matter, route.loop)  # see `ring`: a method of ours in ourselves would be a cycle

    def _post(self, head: bytes, meta: bytes) -> bytes:
        if not meta:
            return self.route.link.post(head + self.call.arguments + b"}}", self)
        following = self.route.following
        self._token = following.begin(self.call.talk, self) if relay.wants_progress(meta) else None
        try:
            return self.route.link.post(head + self.call.arguments + relay.call_end(meta, self._token), self)
        except LinkError:
            self._stop_following()
            raise

    # ── as a waiter ──────────────────────────────────────────────────────────────────────────────────────────────────

    def done(self) -> bool:
        return self._over

    def set_result(self, answer: Response | Failure) -> None:
        self._end()
        reply = self._read(answer)
        if reply is None:
            self._go_on(answer)
        else:
            self._receiver.finish_with(reply)

    def set_exception(self, error: ClawftError) -> None:
        self._end()
        self._go_on(error)

    # ── other ends ───────────────────────────────────────────────────────────────────────────────────────────────────

    def cancel(self, details: bytes = b"") -> None:
        if not self._over:
            self._give_up(details)

    def ring(self) -> None:
        super().ring()
        self._give_up()
        self._go_on(self.timeout())

    def _give_up(self, details: bytes = b"") -> None:
        self._end()
        self.route.upstream.abandoned.note(self)
        self.route.link.withdraw(self._id, details)

    def _read(self, answer: Response | Failure) -> Reply | None:
        """The reply; None if more is needed, or the answer is wrong: the slow path then says how."""
        if not isinstance(answer, Response) or not is_cheap(answer.result):
            return None
        try:
            return relay.reply_of(answer.result, stateless=False, older=True)
        except ProtocolFailure:
            return None

    def _end(self) -> None:
        self._over = True
        self.end()
        upstream = self.route.upstream
        del upstream.flights[self]
        self._stop_following()
        if self.answering:
            self.finish_questions(upstream.flights)
        upstream.gate.leave()

    def _stop_following(self) -> None:
        if self._token is not None:
            self.route.following.end(self._token)

    def _go_on(self, ended: CallEnd) -> None:
        self._receiver.continue_with(lambda call: self.route.settle(self, ended))


def _no_matter() -> None:
    pass

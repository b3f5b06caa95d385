"""A caller on a pipe (stdio): every line is one message, and the first request decides the era."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from clawft.errors import (
    INTERNAL_ERROR,
    BadEnvelope,
    BadNotification,
    BadParams,
    Busy,
    MessageTooLong,
    NotInitialized,
    ParseError,
    UnsupportedRevision,
    WireError,
)
from clawft.gateway.conversation import Conversation
from clawft.gateway.core import Gateway
from clawft.gateway.dispatch import CallTarget, read_target
from clawft.gateway.running_requests import CodeOf, Deliver, RunningRequests, Work
from clawft.link.share.byte_limits import COUNTED_BYTES, MAX_ANSWER_BYTES, REQUESTS, Reservation
from clawft.model import Caller, Era
from clawft.wire import handshake
from clawft.wire.calls import TOOLS_CALL, UsualCall, read_usual
from clawft.wire.framing import TooLong
from clawft.wire.jsonrpc import reading, writing
from clawft.wire.jsonrpc.messages import Notification, Request
from clawft.wire.meta import claims_stateless, may_name_version
from clawft.wire.revisions import REVISIONS, STATELESS

if TYPE_CHECKING:  # loaded with the first caller of the stateless era
    from clawft.gateway.exchange import Exchange

MAX_UNREAD = 8 * 1024 * 1024
"""Bytes waiting for a caller that does not read, above which notifications are left out."""
HOLD_SECONDS = 0.001
"""The pause between a progress notification and whatever follows it."""
UNREAD = (
    f"busy: the answer is left out, {MAX_ANSWER_BYTES} bytes of earlier ones are unread (read them, then call again)"
)
_PROGRESS = writing.notification("notifications/progress")[:-1]
_STATELESS = Era.STATELESS  # found once, and not for each request
BEFORE_INITIALIZE = ("initialize", "ping")

log = logging.getLogger("clawft.pipe")


class PipeCaller:
    """Takes lines and writes messages. `write` gets one whole message without its newline."""

    def __init__(
        self, gateway: Gateway, base: Caller, write: Callable[[bytes], None], unread: Callable[[], int] = lambda: 0
    ) -> None:
        self._gateway = gateway
        self._base = base
        self._write = self._write_now = write
        self._held: list[bytes] = []
        self._holding: asyncio.TimerHandle | None = None
        self._unread = unread
        self._era: Era | None = None
        self._is_settled = False
        """The handshake is done: only a request that names a version has to be checked for its era."""
        self._conversation = Conversation(gateway, base, self)
        self._running = self._conversation.running

    @cached_property
    def _exchange(self) -> Exchange:
        from clawft.gateway.exchange import Exchange  # most callers on a pipe begin with a handshake

        return Exchange(self._gateway, self._base)

    @property
    def running(self) -> RunningRequests:
        return self._running

    # ── as an outlet: everything goes down the one pipe ──────────────────────────────────────────────────────────────

    over = False

    def send(self, message: bytes) -> None:
        if message.startswith(_PROGRESS):
            self._send_progress(message)
        elif self._unread() < MAX_UNREAD or not writing.is_notification(message):
            self._write(message)

    def _send_progress(self, message: bytes) -> None:
        """Send progress at once, and hold everything but further progress for a moment: some clients drop progress that
        they read together with the answer of its call.
        """
        if self._unread() >= MAX_UNREAD:
            return
        self._write_now(message)
        if self._holding is None:
            self._write = self._held.append
            self._holding = asyncio.get_running_loop().call_later(HOLD_SECONDS, self._write_held)

    def _write_held(self) -> None:
        self._write, self._holding = self._write_now, None
        held, self._held = self._held, []
        for message in held:
            self._write(message)

    def hang_up(self, retry_ms: int) -> None:
        pass

    # ── lines ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def accept(self, line: bytes | TooLong) -> None:
        """Never raises: one message that breaks something must not end the conversation."""
        try:
            self._dispatch(line)
        except Exception:
            log.exception("handling a message failed")
            self._write(writing.failure(None, INTERNAL_ERROR, "internal error"))

    def _dispatch(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            from clawft.wire.jsonrpc.likely import likely_request  # few callers write such lines

            wrong = MessageTooLong("the message is too long", hint="16 MiB at most")
            self._conversation.on_unreadable(line.head, wrong)
            self._write(writing.failure_of(likely_request(line.head), wrong))
            return
        usual = read_usual(line) if self._is_settled else None
        if usual is not None and not (usual.meta and may_name_version(usual.meta)):
            self._start_usual_call(usual, len(line))
            return
        try:
            message = reading.decode(line)
        except (ParseError, BadEnvelope) as wrong:
            self._on_unreadable(line, wrong)
            return
        if isinstance(message, Request):
            self._request(message, len(line))
        elif isinstance(message, Notification):
            self._on_notification(message)
        else:
            self._conversation.on_answer(message)

    def _on_unreadable(self, line: bytes, wrong: ParseError | BadEnvelope) -> None:
        from clawft.wire.jsonrpc.batches import is_batch  # few callers send what is no message

        if self._conversation.on_unreadable(line, wrong) or isinstance(wrong, ParseError):
            self._write(writing.failure_of(None, wrong))
        elif is_batch(line):
            self._accept_batch(line)
        elif isinstance(wrong, BadNotification):
            log.debug("a notification was ignored: %s", wrong)
        else:
            self._write(writing.failure_of(wrong.id, wrong))

    def _request(self, request: Request, size: int) -> None:
        """`size` is that of the whole line, which is kept until it is answered."""
        try:
            settled = self._is_settled and not may_name_version(request.params)
            refusal = None if settled else self._settle_era(request)
            if refusal is not None:
                self._write(writing.failure_of(request.id, refusal))
            elif self._era is _STATELESS:
                self._start(request.id, self._stateless(request), size, self._exchange.error_code)
            elif request.method == TOOLS_CALL:
                self._start_call(request, size)
            else:
                self._start_other(request, size)
        except RecursionError:
            self._refuse_nesting(request.id)

    def _start_usual_call(self, usual: UsualCall, size: int) -> None:
        try:
            self._call(usual.id, CallTarget(TOOLS_CALL, usual.name, usual.arguments, usual.meta), size)
        except RecursionError:
            self._refuse_nesting(usual.id)

    def _refuse_nesting(self, id: bytes) -> None:
        """The decoder allows deeper nesting than the code behind it."""
        self._write(writing.failure_of(id, BadParams("params are nested too deeply")))

    def _start_other(self, request: Request, size: int) -> None:
        answer = self._conversation.answer_now(request)
        if answer is not None:
            self._write(answer)
        else:
            self._start(request.id, self._conversation.answer(request, self), size)

    def _start_call(self, request: Request, size: int) -> None:
        try:
            target = read_target(request.method, request.params)
        except BadParams as wrong:
            self._write(writing.failure_of(request.id, wrong, handshake.error_code(wrong)))
        else:
            self._call(request.id, target, size)

    def _call(self, id: bytes, target: CallTarget, size: int) -> None:
        if size > COUNTED_BYTES or not self._conversation.start_fast(id, target, self._deliver):
            self._start(id, self._conversation.call(target, self), size)

    def _start(self, id: bytes, work: Work, size: int, code_of: CodeOf = handshake.error_code) -> None:
        """Run it, unless there are too many large requests."""
        try:
            is_large = size > COUNTED_BYTES
            back = self._releasing(Reservation(REQUESTS, size), self._deliver) if is_large else self._deliver
        except Busy as busy:
            work.close()
            self._write(writing.failure_of(id, busy))
        else:
            self._running.start(id, work, code_of, back)

    def _releasing(self, reserved: Reservation, deliver: Deliver) -> Deliver:
        def answered(answer: bytes) -> None:
            reserved.release()
            deliver(answer)

        return answered

    def _deliver(self, answer: bytes) -> None:
        if len(answer) > COUNTED_BYTES and self._unread() > MAX_ANSWER_BYTES:
            answer = writing.failure(writing.id_of(answer), INTERNAL_ERROR, UNREAD)
        if answer:  # a cancelled request has none
            self._write(answer)

    def _settle_era(self, request: Request) -> WireError | NotInitialized | None:
        """Let the first request decide the era. The error for a request of the other era, or before initialize."""
        is_stateless = claims_stateless(request.params)
        if self._era is None:
            if is_stateless:
                self._era = Era.STATELESS
                return None
            if request.method == "initialize":
                self._era = Era.HANDSHAKE
        if self._era is Era.STATELESS and request.method == "initialize":
            return UnsupportedRevision(
                "this connection speaks 2026-07-28: there is no initialize",
                data={"supported": list(STATELESS), "requested": "initialize"},
            )
        if self._era is Era.HANDSHAKE and is_stateless:
            return BadEnvelope("this connection was opened with initialize and cannot change its era")
        is_open = self._era is Era.STATELESS or self._conversation.is_initialized
        if not is_open and request.method not in BEFORE_INITIALIZE:
            return NotInitialized("not initialized", hint="send initialize first")
        self._is_settled = self._era is Era.HANDSHAKE and self._conversation.is_initialized
        return None

    async def _stateless(self, request: Request) -> bytes:
        exchange = self._exchange
        answer = exchange.answer(exchange.read(request), self)
        del request  # which may be large, and was read
        return await answer

    def _on_notification(self, notification: Notification) -> None:
        if self._era is not Era.STATELESS:
            self._conversation.on_notification(notification)
        elif notification.method == "notifications/cancelled":
            from clawft.wire.cancel import cancel_details, read_cancelled  # loaded with the first

            id = read_cancelled(notification.params)
            if id is not None:
                self._running.cancel(id, cancel_details(notification.params))

    # ── batches: 2025-03-26 only ─────────────────────────────────────────────────────────────────────────────────────

    def _accept_batch(self, line: bytes) -> None:
        from clawft.gateway.batch import Batch  # most callers are of another revision
        from clawft.wire.jsonrpc.batches import decode_batch, unknown_here

        conversation = self._conversation
        if not conversation.is_initialized or not REVISIONS[conversation.caller.revision].batches:
            self._write(writing.failure_of(None, unknown_here()))
            return
        try:
            members = decode_batch(line)
            reserved = Reservation(REQUESTS, len(line) if len(line) > COUNTED_BYTES else 0)
        except (WireError, Busy) as refusal:
            self._write(writing.failure_of(None, refusal))
            return
        if not Batch(self, conversation, self._releasing(reserved, self._write_any)).take(members):
            reserved.release()

    def _write_any(self, message: bytes) -> None:
        if message:
            self._write(message)

    def close(self) -> None:
        self._conversation.close()
        if self._holding is not None:
            self._holding.cancel()
            self._write_held()

"""A connection to a server over its stdin and stdout: lines of JSON, and a table of open requests.

The link ends when the child does, when it closes its output, or when it stops reading its input: all open requests then
fail with one error that says which it was.
"""

from __future__ import annotations

import asyncio
import logging
import time
from codecs import BOM_UTF8
from io import BytesIO
from typing import IO, Any

from msgspec.structs import replace

from clawft.errors import LinkClosed, LinkError, MessageTooLong, ProcessExited, WireError
from clawft.link.base import Incoming, LinkKind, Lost, OutgoingRequest, details_of, is_list, too_long
from clawft.link.deadline import Deadline
from clawft.link.faults import Faults
from clawft.link.first_id import before_first_id
from clawft.link.line_reader import LineReader
from clawft.link.line_writer import LineWriter
from clawft.link.pipe_ends import grow, handed_over
from clawft.link.process import Child, Launch, Said, start
from clawft.link.share.read_throttle import ReadThrottle
from clawft.link.share.turns import unended
from clawft.link.share.unread_output import SlowReader
from clawft.wire.correlate import OpenAnswers, Waiter
from clawft.wire.framing import DEFAULT_LIMIT, TooLong
from clawft.wire.inplace import INPLACE_BYTES
from clawft.wire.jsonrpc import reading, writing
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response
from clawft.wire.revisions import REVISIONS

MAX_BAD_LINES = 1_000
"""So many successive lines that are no messages end the link."""
MAX_UNREAD_BYTES = 20 * 1024 * 1024
"""Bytes that a child may leave unread on its input before it counts as lost."""

log = logging.getLogger("clawft.link")


class StreamLink:
    """A link to a child process on its stdin and stdout."""

    kind: LinkKind = "stdio"
    refused_notice = ""

    def __init__(self, launch: Launch, *, limit: int = DEFAULT_LIMIT, said: Said | None = None, name: str = "") -> None:
        """`said` is called with what the child writes to stderr; `name` is shown to people."""
        self._said = said
        self._launch = launch
        self._name = name or launch.command
        self._limit = limit
        self._waiting: OpenAnswers[Response | Failure] = OpenAnswers(before_first_id())
        self._closing = False
        self._broken: LinkError | None = None
        self._batches = False
        self._bad_lines = self._long_lines = 0
        self._lists = 0
        """How many lists are requested."""
        self._bad_in_row, self._heard_before = 0, -1
        self._throttle = ReadThrottle()
        self._outputs: list[asyncio.ReadTransport] = []
        self._stdin: asyncio.WriteTransport | None = None
        self.child: Child | None = None

    async def open(self, incoming: Incoming, lost: Lost) -> None:
        self._loop = asyncio.get_running_loop()
        self._incoming = incoming
        self._lost = lost
        self.child = child = start(self._launch, self._said)
        await child.let_in()
        self._launch = replace(self._launch, pinned=())  # scripts in there may be large, and are needed once
        pipes = child.pipes
        grow(*(pipe.fileno() for pipe in (pipes.stdin, pipes.stdout) if pipe is not None))
        self._writer = LineWriter()
        self._writer.count_for(SlowReader(self._writer.unread, self._give_way, is_held_up=self._is_held_up))
        self._stdin, _ = await self._loop.connect_write_pipe(lambda: self._writer, handed_over(pipes.stdin, self._loop))
        self._writer.attach(self._stdin)
        self._reader = reader = LineReader(self._accept, self._limit, self._heard_nothing, in_turn=True)
        await self._read(reader, pipes.stdout)
        await self._read(_StderrReader(child), pipes.stderr)
        for end in (reader.ended, child.ended, self._writer.broken):
            end.add_done_callback(self._end_seen)

    async def _read(self, reader: asyncio.Protocol, pipe: IO[bytes] | None) -> None:
        transport, _ = await self._loop.connect_read_pipe(lambda: reader, handed_over(pipe, self._loop))
        self._outputs.append(transport)

    def settled(self, revision: str) -> None:
        self._batches = REVISIONS[revision].batches

    async def request(self, outgoing: OutgoingRequest, deadline: Deadline | None = None) -> Response | Failure:
        waiter: asyncio.Future[Response | Failure] = self._loop.create_future()
        method, given = outgoing.method, [outgoing.params]
        del outgoing  # which may be large, see `inplace`
        id = self._open(waiter)
        self._lists += is_list(method)
        self._write(writing.request_as(id, method, given.pop()))
        if deadline is not None:
            deadline.begin(waiter.cancel, self._loop)
        try:
            return await waiter
        except asyncio.CancelledError as ended:
            self.withdraw(id, details_of(ended), silently=method == "initialize")
            if deadline is not None and deadline.expired and not _is_cancelled():
                raise deadline.timeout(self._backlog()) from None
            raise
        finally:
            self._lists -= is_list(method)
            if deadline is not None:
                deadline.end()

    def _backlog(self) -> str:
        return f", and {self._writer.unread()} bytes wait on its input" if self._writer.lags else ""

    def post(self, rest: bytes, waiter: Waiter[Response | Failure]) -> bytes:
        id = self._open(waiter)
        self._write(writing.request_of(id, rest))
        return id

    def _open(self, waiter: Waiter[Response | Failure]) -> bytes:
        if self._broken is not None:
            raise self._broken
        return self._waiting.open_as(waiter)

    def withdraw(self, id: bytes, details: bytes = b"", *, silently: bool = False) -> None:
        self._waiting.close(id)
        if not silently:
            self._write(writing.cancelled(id, details))

    async def notify(self, method: str, params: bytes = b"") -> None:
        self._write(writing.notification(method, params))

    async def answer(self, message: bytes) -> None:
        self._write(message)

    def _write(self, message: bytes) -> None:
        if self._broken is not None:
            return
        self._writer.write(message)
        if self._writer.full:
            self._heed(len(message))

    def _heed(self, size: int) -> None:
        """The child is slow, and so many bytes have come for it just now."""
        if self._writer.unread() > MAX_UNREAD_BYTES:
            self._give_up(f"{MAX_UNREAD_BYTES} bytes wait")
        else:
            self._writer.wait_more(size)

    def _is_held_up(self) -> bool:
        """Whether we do not read its output: then it may be blocked, and read nothing itself."""
        return self._reader.waits_for_others

    def _give_way(self, size: int) -> None:
        self._give_up(f"{size} bytes wait, and others need the room")

    def _give_up(self, why: str) -> None:
        """End the link, as the child does not read."""
        deaf = LinkClosed(f"{self._launch.command} does not read its input: {why}")
        self._loop.call_soon(self._lose, deaf)  # not now, in the middle of a write

    async def close(self) -> None:
        """Stop the child step by step; may be called twice."""
        self._closing = True
        self._break(LinkClosed(f"the link to {self._name} was closed because it is being stopped or restarted"))
        if self.child is not None:
            await self.child.stop(self._close_input)
        self._drop_input()
        for output in self._outputs:
            output.close()
        if self.child is not None:
            self.child.close_pipes()
        self._let_go()

    def _let_go(self) -> None:
        """Drop references to those who refer to us, so that memory is freed without the garbage collector."""
        self._incoming = self._lost = _unheard
        if self._broken is not None:
            self._broken.__traceback__ = None  # everybody it was raised to

    def _drop_input(self) -> None:
        """Discard the input that the child did not read."""
        stdin, self._stdin = self._stdin, None
        if stdin is not None and not self._writer.broken.done():
            stdin.abort()

    def _close_input(self) -> None:
        if self._stdin is not None:
            self._stdin.close()

    # ── what comes in ────────────────────────────────────────────────────────────────────────────────────────────────

    def _accept(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            self._take_long_line(line)
            return
        size, room = len(line), None
        try:
            if size < INPLACE_BYTES:
                message = reading.decode(line)
            else:
                room = BytesIO(line)
                line = b""  # see `inplace`
                message = reading.decode_large(room)
        except WireError as wrong:
            self._take_bad_line(line if room is None else room.getvalue(), wrong)
            return
        del line, room  # both may be large, like what is made of them now
        if isinstance(message, Response):
            waiter = self._waiting.take(message.id)
        elif isinstance(message, Failure):
            waiter = self._waiting.take_failed(message.id)
        else:
            self._take_unasked(message, size)
            return
        if waiter is None:
            self._rest_from(size, time.monotonic())
        elif not waiter.done():
            waiter.set_result(message)

    def _take_unasked(self, message: Request | Notification, size: int) -> None:
        """Handle a notification or a request of the server, as far as there is time for such."""
        began = time.monotonic()
        self._bad_in_row = 0
        self._incoming(message, None)
        self._rest_from(size, began)

    def _rest_from(self, size: int, began: float) -> None:
        pause = self._throttle.pause_after(size, began)
        if pause:
            self._reader.hold(_NOISE)
            self._loop.call_later(pause, self._reader.let_go, _NOISE)

    def _heard_nothing(self, lines: int) -> None:
        self._rest_from(lines * _BLANK_BYTES, time.monotonic())

    def _take_long_line(self, line: TooLong) -> None:
        from clawft.wire.jsonrpc.unreadable import fail_long  # few servers write what cannot be read

        self._long_lines += 1
        fail_long(line.head, self._waiting, _skipped(line, self._limit))

    def _take_bad_line(self, line: bytes, wrong: WireError) -> None:
        from clawft.wire.jsonrpc.batches import unpacked  # few servers write what cannot be read
        from clawft.wire.jsonrpc.unreadable import fail_answered, refusal_of, salvage

        began = time.monotonic()
        if line.startswith(BOM_UTF8):  # some shells of Windows write one
            self._accept(line.removeprefix(BOM_UTF8))
            return
        if self._reader.was_cut_off:
            return  # it ended while writing this: open requests fail with how it ended
        members = unpacked(line)
        if members and self._batches:
            for member in members:
                self._accept(member)
            return
        if self._lists and salvage(line, self._waiting):
            return
        fail_answered(line, members, self._waiting, wrong)
        if refusal := refusal_of(line, wrong):
            self._write(refusal)
        self._count_bad_line(line, wrong)
        self._rest_from(len(line), began)

    def _count_bad_line(self, line: bytes, wrong: WireError) -> None:
        self._bad_lines += 1
        heard = self._waiting.settled  # counted there anyway, so good messages cost nothing here
        self._bad_in_row = self._bad_in_row + 1 if heard == self._heard_before else 1
        self._heard_before = heard
        if self._bad_lines <= _SHOWN_BAD_LINES:
            log.warning("%s wrote a line that is not a message: %s: %r", self._name, wrong, line[:200])
            if self.child is not None:
                self.child.hear(b"(on stdout, where only messages may be) " + line[:200].rstrip() + b"\n")
        if self._bad_in_row == MAX_BAD_LINES and self.child is not None:
            log.error("%s wrote %d such lines; it is stopped", self._name, MAX_BAD_LINES)
            self._reader.hold(_STOPPED)
            self._lose(ProcessExited(f"{self._launch.command} was stopped: {_noisy(line)}"))

    @property
    def faults(self) -> Faults:
        return Faults(self._waiting.dropped, self._bad_lines, self._long_lines, int(self._throttle.paused))

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _end_seen(self, _: asyncio.Future[Any]) -> None:
        """Pipes or child are gone, so the link ends; after a moment, in which the exit status and stderr arrive."""
        self._loop.call_later(_LAST_WORDS_SECONDS, self._gone)

    def _gone(self) -> None:
        why = self.child.why_ended() if self.child is not None else "was never started"
        self._lose(ProcessExited(f"{self._launch.command} {why}"))

    def _lose(self, error: LinkError) -> None:
        if self._broken is not None:
            return
        self._break(error)
        if self.child is not None:
            self.child.kill()
        self._drop_input()
        if not self._closing:
            self._lost(error)

    def _break(self, error: LinkError) -> None:
        if self._broken is None:
            self._broken = error
        self._waiting.fail_all(error)


_NOISE, _STOPPED = "noise", "stopped"
_SHOWN_BAD_LINES = 5
_BLANK_BYTES = 100
"""Skipping a blank line takes as long as so many bytes of a filled one."""
_LAST_WORDS_SECONDS = 0.05
"""Stderr and the exit status may arrive just after stdout has closed."""


def _unheard(*_: object) -> None:
    pass


def _noisy(line: bytes) -> str:
    """The reason to end it; without this its exit status would look like another's doing."""
    last = line[:60].decode("utf-8", "backslashreplace").strip()
    return f"it wrote {MAX_BAD_LINES} lines to stdout that are not messages, the last {last!r}"


def _skipped(line: TooLong, limit: int) -> MessageTooLong:
    return unended() if line.given_up else too_long("the server", limit)


def _is_cancelled() -> bool:
    """Whether the running task is cancelled, whatever else happened to it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class _StderrReader(asyncio.Protocol):
    def __init__(self, child: Child) -> None:
        self._child = child

    def data_received(self, data: bytes) -> None:
        self._child.hear(data)

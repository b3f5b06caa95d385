"""Audit: one line for every call, refused ones too. Outermost, so that nothing happens without it."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from binascii import hexlify
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Struct

from clawft.errors import Busy, NotApproved, ToolNotFound
from clawft.model import Call, Caller, Kind, Next, Origin, Reply, Tool
from clawft.wire.visible import make_visible

if TYPE_CHECKING:  # loaded with the first lines
    from concurrent.futures import Future, ThreadPoolExecutor

FLUSH_SECONDS = 0.1
MAX_WAITING = 20_000
"""Lines held before a batch is written at once: a burst costs time, never a line."""

PATIENCE_SECONDS = 0.2
"""How long a batch waits for somebody who holds the journal, before it is joined by the next and tries again."""
BURST_SECONDS = 10.0
"""The same where no more lines can be held."""
LAST_SECONDS = 0.7
"""The same at the end, where calls and servers have had their time and a second is left."""

log = logging.getLogger("clawft.audit")

_now, _clock = time.time, time.perf_counter
_COMPLETE = Kind.COMPLETE  # found once, and not for each call


class Sink(Protocol):
    """Where lines go: a hash-chained journal."""

    def append(self, entries: Sequence[bytes], seconds: float) -> None:
        """Raises Busy, with nothing written, if others hold it for longer than this."""
        ...


class _Happened(Struct, gc=False):
    """What the hot path notes; the line is made later, in the batch."""

    when: float
    call: Call
    verdict: str
    outcome: str
    seconds: float
    size: int


class Audit:
    def __init__(self, sink: Sink, *, values: bool = False) -> None:
        """`values`: write the arguments themselves, not only their digest."""
        self._sink = sink
        self._values = values
        self._waiting: list[_Happened] = []
        self._held_up: list[bytes] = []
        """Lines whose batch could not be written in time; touched by whoever writes, and nobody else."""
        self._timer: asyncio.TimerHandle | None = None
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        self._count = 0
        self._run = os.urandom(4).hex().encode()
        self._second, self._stamp = 0, b""
        self._caller: Caller | None = None
        self._tool, self._head = "", b""
        """The last second, and who called what last: the next line is likely to begin in the same way."""

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return True

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        return self.follow(call, after, _clock())

    async def follow(self, call: Call, after: Next, began: float) -> Reply:
        try:
            reply = await after(call)
        except BaseException as ended:
            self.noted(call, began, ended)
            raise
        self.noted(call, began, reply)
        return reply

    def noted(self, call: Call, began: float, ended: Reply | BaseException) -> None:
        """One call is over, and this came of it."""
        took, waiting = _clock() - began, self._waiting
        if isinstance(ended, BaseException):
            waiting.append(_Happened(_now(), call, _verdict_of(ended), _outcome_of(ended), took, 0))
        else:
            outcome = "error" if ended.is_error else ("ok" if ended.kind is _COMPLETE else ended.kind.value)
            verdict = f"deny:{ended.refused}" if ended.refused else "allow"
            waiting.append(_Happened(_now(), call, verdict, outcome, took, len(ended.result)))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush_aside)
        elif len(waiting) >= MAX_WAITING:
            self.flush()

    def _flush_aside(self) -> None:
        """Write the batch in the writer thread; one at a time, in order."""
        self._timer = None
        if self._writing is not None and not self._writing.done():
            self._look_again()
            return
        batch, self._waiting = self._waiting, []
        if batch or self._held_up:
            writer = self._writer = self._writer or _new_writer()
            self._writing = writer.submit(self._write_or_hold, batch)
            self._look_again()

    def _look_again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush_aside)

    def flush(self, seconds: float = BURST_SECONDS) -> None:
        """Write everything that waits, now, behind what the writer thread has begun."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            self._writing.result()
        batch, self._waiting = self._waiting, []
        if batch or self._held_up:
            self._write(batch, seconds)

    def close(self) -> None:
        self.flush(LAST_SECONDS)
        if self._writer is not None:
            self._writer.shutdown()

    def _write_or_hold(self, batch: list[_Happened]) -> None:
        try:
            self._append(batch, PATIENCE_SECONDS)
        except Busy as held:
            if len(self._held_up) >= MAX_WAITING:
                self._give_up(held)

    def _write(self, batch: list[_Happened], seconds: float) -> None:
        try:
            self._append(batch, seconds)
        except Busy as held:
            self._give_up(held)

    def _append(self, batch: list[_Happened], seconds: float) -> None:
        """Raises Busy, and then the lines are held up."""
        from hashlib import sha256  # loads OpenSSL; whoever only lists writes nothing

        try:
            self._held_up += [self._line(each, sha256(each.call.arguments).digest()) for each in batch]
            self._sink.append(self._held_up, seconds)
        except Busy:
            raise
        except OSError as failed:  # the disk is full: no call that has nothing to do with it fails
            log.error("audit: %d lines could not be written: %s", len(self._held_up), failed.strerror or failed)
        except Exception:  # the same for whatever else breaks here
            log.exception("audit: %d lines could not be written", len(self._held_up))
        self._held_up = []

    def _give_up(self, held: Busy) -> None:
        log.error("audit: %d lines could not be written: %s", len(self._held_up), held)
        self._held_up = []

    def _line(self, happened: _Happened, digest: bytes) -> bytes:
        """One JSON object, put together from parts that hardly ever change: this runs for every call there is."""
        call = happened.call
        second = int(happened.when)
        if second != self._second:
            self._second, self._stamp = second, _timestamp(second)
        if call.caller is not self._caller or call.name is not self._tool:
            self._caller, self._tool, self._head = call.caller, call.name, _head(call)
        self._count += 1
        values = b',"arguments":' + _recorded(call.arguments) if self._values and self._keeps_values(call) else b""
        return _LINE % (
            self._stamp,
            (happened.when - second) * 1000,
            self._run,
            self._count,
            self._head,
            _said(happened.verdict, happened.outcome),
            happened.seconds * 1000,
            len(call.arguments),
            happened.size,
            hexlify(digest[:16]),
            b"" if call.origin.trusted else b',"trusted":false',
            values,
        )

    def _keeps_values(self, call: Call) -> bool:
        return self._values and len(call.arguments) <= MAX_VALUES and call.origin.namespace not in SECRETIVE


def _new_writer() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # whoever only lists writes nothing

    return ThreadPoolExecutor(1, "clawft-audit")


def _recorded(arguments: bytes) -> bytes:
    """On one line, as JSON strings hold no raw line ends; and without what looks like a secret."""
    from clawft.store.concealed_secrets import without_resolved  # only where values are wanted
    from clawft.wire.secrets import mask_members

    return mask_members(without_resolved(arguments)).replace(b"\n", b" ").replace(b"\r", b" ")


SECRETIVE = frozenset({"oauth2"})
"""Families whose arguments may hold a secret of the user's: never written, whatever the settings say."""
MAX_VALUES = 64 * 1024
"""Arguments longer than this are never written, only their digest."""

MAX_WORD = 1024
"""Characters of a name as it is written: a line that is too long would be no line at all."""

_LINE = b'{"time":"%b.%03dZ","id":"%b-%d",%b,%b,"ms":%.3f,"bytes_in":%d,"bytes_out":%d,"digest":"%b"%b%b}'


def _timestamp(second: int) -> bytes:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)).encode()


def _head(call: Call) -> bytes:
    """Who called what, as the inside of a JSON object."""
    caller = call.caller
    told = (caller.principal, caller.agent, caller.client, call.name, call.origin.server)
    return _told(*(word[:MAX_WORD] for word in told))


@lru_cache(maxsize=1024)
def _told(principal: str, agent: str, client: str, tool: str, server: str) -> bytes:
    told = {"caller": principal, "agent": agent, "client": client, "tool": tool}
    if server:
        told["server"] = server
    try:
        written = msgspec.json.encode(told)
    except UnicodeEncodeError:  # somebody typed a name that is no text
        written = msgspec.json.encode({key: word.encode("utf-8", "replace").decode() for key, word in told.items()})
    return make_visible(written)[1:-1]


@lru_cache(maxsize=256)
def _said(verdict: str, outcome: str) -> bytes:
    return msgspec.json.encode({"verdict": verdict, "outcome": outcome})[1:-1]


def _verdict_of(ended: BaseException) -> str:
    if isinstance(ended, NotApproved):
        return "deny:approval"
    return "hidden" if isinstance(ended, ToolNotFound) else "allow"


def _outcome_of(ended: BaseException) -> str:
    if isinstance(ended, asyncio.CancelledError):
        return "cancelled"
    name = type(ended).__name__
    return f"failed:{name}" if isinstance(ended, Exception) else f"interrupted:{name}"  # a question, say

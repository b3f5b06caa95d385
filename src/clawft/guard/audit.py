"""The audit guard: one line for every call, refused ones too. It is outermost, so that no call escapes it."""

from __future__ import annotations

import asyncio
import atexit
import logging
import time
from collections.abc import Awaitable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from clawft.errors import Busy, NotApproved, ToolNotFound
from clawft.guard.pipeline import WitnessGuard
from clawft.model import Call, Caller, Kind, Next, Origin, Reply, Tool

if TYPE_CHECKING:  # loaded with the first lines
    from concurrent.futures import Future, ThreadPoolExecutor

    from clawft.guard.audit_lines import AuditLines

FLUSH_SECONDS = 0.1
MAX_WAITING = 20_000
"""Lines held before a batch is written at once: a burst may slow calls down, but loses no line."""

PATIENCE_SECONDS = 0.2
"""How long a batch waits for the lock of the journal, before the next joins it and it tries again."""
BURST_SECONDS = 10.0
"""How long a batch waits for the lock where no more lines can be held."""
LAST_SECONDS = 0.7
"""How long the last batch waits for the lock: calls and servers have ended, and a second is left."""

log = logging.getLogger("clawft.audit")

_now, _clock = time.time, time.perf_counter
_COMPLETE = Kind.COMPLETE  # looked up once, and not for each call


class Sink(Protocol):
    """Where lines are written: a hash-chained journal."""

    def append(self, entries: Sequence[bytes], seconds: float) -> None:
        """Write the lines. Raises Busy if others hold the lock for longer, or OSError; then nothing is written."""
        ...


class Happened(Struct, gc=False):
    """The record taken during a call; its line is made later, in the batch."""

    when: float
    call: Call
    verdict: str
    outcome: str
    seconds: float
    size: int


class Audit(WitnessGuard):
    def __init__(self, sink: Sink, *, values: bool = False) -> None:
        """`values`: write the arguments themselves, and not only their digest."""
        self._sink = sink
        self._values = values
        self._waiting: list[Happened] = []
        self._held_up: list[bytes] = []
        """Lines whose batch could not be written yet; like the next two, used only by the thread that writes."""
        self._lost = 0
        """How many lines were dropped since the last one that was written."""
        self._in_trouble = False
        self._timer: asyncio.TimerHandle | None = None
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    @cached_property
    def _lines(self) -> AuditLines:
        from clawft.guard.audit_lines import AuditLines  # commands that only list write nothing

        return AuditLines(values=self._values)

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
        """Record a call that is over, with its outcome."""
        took, waiting = _clock() - began, self._waiting
        if isinstance(ended, BaseException):
            waiting.append(Happened(_now(), call, _verdict_of(ended), _outcome_of(ended), took, 0))
        else:
            outcome = "error" if ended.is_error else ("ok" if ended.kind is _COMPLETE else ended.kind.value)
            verdict = f"deny:{ended.refused}" if ended.refused else "allow"
            waiting.append(Happened(_now(), call, verdict, outcome, took, len(ended.result)))
        if self._timer is None:
            _UNWRITTEN.add(self)
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush_aside)
        elif len(waiting) >= MAX_WAITING:
            self.flush()

    def _flush_aside(self) -> None:
        """Write the batch in the writer thread, one batch at a time and in order."""
        self._timer = None
        if self._writing is not None and not self._writing.done():
            self._look_again()
            return
        batch, self._waiting = self._waiting, []
        if batch or self._held_up:
            writer = self._writer = self._writer or _new_writer()
            self._writing = writer.submit(self._write_or_hold, batch)
            self._look_again()
        else:
            _UNWRITTEN.discard(self)

    def _look_again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush_aside)

    def flush(self, seconds: float = BURST_SECONDS) -> None:
        """Write all waiting lines now, after the batch the writer thread has begun."""
        _UNWRITTEN.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            self._writing.result()
        batch, self._waiting = self._waiting, []
        if batch or self._held_up or self._lost:
            self._write(batch, seconds)

    def close(self) -> None:
        self.flush(LAST_SECONDS)
        if self._writer is not None:
            self._writer.shutdown()
            self._writer = self._writing = None  # a program may call tools again, and close again

    def _write_or_hold(self, batch: list[Happened]) -> None:
        try:
            self._append(batch, PATIENCE_SECONDS)
        except (Busy, OSError) as failed:
            if len(self._held_up) >= MAX_WAITING:
                self._give_up(failed)
            elif isinstance(failed, OSError) and not self._in_trouble:
                self._in_trouble = True
                log.error("audit: lines cannot be written and are kept in memory: %s", _why(failed))

    def _write(self, batch: list[Happened], seconds: float) -> None:
        try:
            self._append(batch, seconds)
        except (Busy, OSError) as failed:
            self._give_up(failed)

    def _append(self, batch: list[Happened], seconds: float) -> None:
        """Write a batch. Raises Busy, or OSError where the disk is full; then the lines are kept, and no call fails.

        Lines that had to be dropped are reported in a line of their own, as soon as one can be written.
        """
        try:
            self._held_up += map(self._lines.of, batch)
            lost = [self._lines.of(_loss(self._lost))] if self._lost else []
            self._sink.append([*lost, *self._held_up], seconds)
        except (Busy, OSError):
            raise
        except Exception as broken:  # a malformed line would hold up all others for ever
            log.exception("audit: a line cannot be written")
            self._give_up(broken)
        else:
            self._held_up, self._lost, self._in_trouble = [], 0, False

    def _give_up(self, failed: Exception) -> None:
        log.error("audit: %d lines could not be written: %s", len(self._held_up), _why(failed))
        self._lost += len(self._held_up)
        self._held_up = []


_UNWRITTEN: set[Audit] = set()
"""Audits with lines left, for a program that ends without closing them, as after one call in a loop."""


@atexit.register
def _write_the_rest() -> None:
    for audit in tuple(_UNWRITTEN):
        audit.flush(LAST_SECONDS)


def _loss(count: int) -> Happened:
    """The line that stands for dropped ones."""
    no_call = Call(Caller(), "weft audit", Tool("weft audit", b""), Origin("weft"))
    return Happened(_now(), no_call, "", f"lost:{count} lines", 0.0, 0)


def _why(failed: Exception) -> str:
    return (failed.strerror if isinstance(failed, OSError) else "") or str(failed)


def _new_writer() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # commands that only list write nothing

    return ThreadPoolExecutor(1, "clawft-audit")


def _verdict_of(ended: BaseException) -> str:
    if isinstance(ended, NotApproved):
        return "deny:approval"
    return "hidden" if isinstance(ended, ToolNotFound) else "allow"


def _outcome_of(ended: BaseException) -> str:
    if isinstance(ended, asyncio.CancelledError):
        return "cancelled"
    name = type(ended).__name__
    return f"failed:{name}" if isinstance(ended, Exception) else f"interrupted:{name}"  # a question, say

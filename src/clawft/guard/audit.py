"""Audit: one line for every call, refused ones too. Outermost, so that nothing happens without it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Protocol

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import ClawftError, ToolNotFound
from clawft.model import Call, Kind, Next, Origin, Reply, Tool

FLUSH_SECONDS = 0.1
MAX_WAITING = 5_000
"""Lines held before a batch is written at once: a burst costs time, never a line."""

log = logging.getLogger("clawft.audit")


class Sink(Protocol):
    """Where lines go: a hash-chained journal."""

    def append(self, entries: Sequence[bytes]) -> None: ...


class Line(Struct, omit_defaults=True):
    time: str
    id: str
    caller: str
    agent: str
    client: str
    tool: str
    verdict: str
    outcome: str
    ms: float
    bytes_in: int
    bytes_out: int
    digest: str
    server: str = ""
    trusted: bool = True
    arguments: Raw | UnsetType = UNSET


class _Happened(Struct):
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
        self._timer: asyncio.TimerHandle | None = None
        self._writer = ThreadPoolExecutor(1, "clawft-audit")
        self._writing: Future[None] | None = None
        self._count = 0
        self._run = hashlib.sha256(f"{time.time_ns()}".encode()).hexdigest()[:8]

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return True

    async def __call__(self, call: Call, after: Next) -> Reply:
        started = time.perf_counter()
        try:
            reply = await after(call)
        except BaseException as ended:
            self._note(call, started, _verdict_of(ended), _outcome_of(ended), 0)
            raise
        outcome = "error" if reply.is_error else ("ok" if reply.kind is Kind.COMPLETE else reply.kind.value)
        self._note(call, started, f"deny:{reply.refused}" if reply.refused else "allow", outcome, len(reply.result))
        return reply

    def _note(self, call: Call, started: float, verdict: str, outcome: str, size: int) -> None:
        self._waiting.append(_Happened(time.time(), call, verdict, outcome, time.perf_counter() - started, size))
        if len(self._waiting) >= MAX_WAITING:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush_aside)

    def _flush_aside(self) -> None:
        """Write the batch in the writer thread; one at a time, in order."""
        self._timer = None
        batch, self._waiting = self._waiting, []
        if batch:
            self._writing = self._writer.submit(self._write, batch)

    def flush(self) -> None:
        """Write everything that waits, now, behind what the writer thread has begun."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            self._writing.result()
        batch, self._waiting = self._waiting, []
        if batch:
            self._write(batch)

    def close(self) -> None:
        self.flush()
        self._writer.shutdown()

    def _write(self, batch: list[_Happened]) -> None:
        try:
            self._sink.append([self._line(happened) for happened in batch])
        except (OSError, ClawftError) as broken:
            log.error("audit: %d lines could not be written: %s", len(batch), broken)

    def _line(self, happened: _Happened) -> bytes:
        call = happened.call
        self._count += 1
        line = Line(
            time=_timestamp(happened.when),
            id=f"{self._run}-{self._count}",
            caller=call.caller.principal,
            agent=call.caller.agent,
            client=call.caller.client,
            tool=call.name,
            verdict=happened.verdict,
            outcome=happened.outcome,
            ms=round(happened.seconds * 1000, 3),
            bytes_in=len(call.arguments),
            bytes_out=happened.size,
            digest=hashlib.sha256(call.arguments).hexdigest()[:32],
            server=call.origin.server,
            trusted=call.origin.trusted,
        )
        if self._values and len(call.arguments) <= _MAX_VALUES:
            line.arguments = Raw(call.arguments)
        return msgspec.json.encode(line)


_MAX_VALUES = 64 * 1024


def _timestamp(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _verdict_of(ended: BaseException) -> str:
    return "hidden" if isinstance(ended, ToolNotFound) else "allow"


def _outcome_of(ended: BaseException) -> str:
    if isinstance(ended, asyncio.CancelledError):
        return "cancelled"
    name = type(ended).__name__
    return f"failed:{name}" if isinstance(ended, Exception) else f"interrupted:{name}"  # a question, say

"""Requests in flight on one connection: bounded, cancelled by id, and waited for at the end."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import cached_property
from typing import TYPE_CHECKING, Any

from clawft.errors import INTERNAL_ERROR, BadEnvelope, Busy, ClawftError
from clawft.model import RunEnded
from clawft.wire.jsonrpc import writing

if TYPE_CHECKING:  # loaded when a connection has too many requests
    from clawft.gateway.backpressure import Backpressure

MAX_IN_FLIGHT = 1_024
MAX_IDLE_WORKERS = 64
_LAST_SECONDS = 2.0
LAST_WORD = "shutting down: the call did not finish in time; it may have taken effect"

log = logging.getLogger("clawft.gateway")

Work = Coroutine[Any, Any, bytes]
"""Gives the bare result of a request, or raises."""
Deliver = Callable[[bytes], None]
CodeOf = Callable[[ClawftError], int]
"""The code of an error in the caller's dialect."""

NOTHING = b""
"""The answer to a cancelled request."""
_CANCELLED = b"cancelled"
"""Prefix of the keys of requests that their caller has cancelled; no JSON-RPC id begins so."""


class Job:
    """One request in flight: queued, run by a task, or started without one (see `fast_calls`)."""

    __slots__ = ("cancelled", "code_of", "deliver", "id", "key", "task", "work")

    def __init__(self, key: bytes, id: bytes, work: Work, code_of: CodeOf, deliver: Deliver | None = None) -> None:
        self.key = key
        self.id = id
        self.work = work
        self.code_of = code_of
        self.deliver = deliver
        self.task: asyncio.Task[Any] | None = None
        self.cancelled = False

    def cancel(self, details: bytes = b"") -> None:
        """`details`: a JSON object with the caller's reason, to be passed on."""
        if not self.cancelled:
            self.cancelled = True
            if self.task is not None:
                self.task.cancel(details or None)


class RunningRequests:
    """Runs requests and gives exactly one answer for each, unless it was cancelled.

    Requests from a pipe are handed to workers: tasks that live on, because starting a task costs more than most calls
    do. A worker that has to wait leaves the next request to another. Requests over HTTP have a task already and run
    there.
    """

    def __init__(self, limit: int = MAX_IN_FLIGHT) -> None:
        self._limit = limit
        self._jobs: dict[bytes, Job] = {}
        self._queue: deque[Job] = deque()
        self._idle: list[asyncio.Future[None]] = []
        self._workers: set[asyncio.Task[None]] = set()
        self._emptied: asyncio.Event | None = None
        self._closing = False
        self._last_word = LAST_WORD
        self._input: tuple[Callable[[], None], Callable[[], None]] | None = None
        """Pauses and resumes the input, where it can wait."""
        self._backpressure: Backpressure | None = None

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, key: object) -> bool:
        """Whether a request with this key is in flight."""
        return key in self._jobs

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """Kept because asking for the running loop costs a system call each time."""
        return asyncio.get_running_loop()

    def throttle(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """Pause the input with these while as many requests are in flight as may be."""
        self._input = pause, resume

    # ── from a pipe ──────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, id: bytes, work: Work, code_of: CodeOf, deliver: Deliver) -> None:
        """Run it soon. `deliver` gets its answer, the refusal to run it, or NOTHING if it was cancelled."""
        refusal = self.refusal(id)
        if refusal is not None:
            work.close()
            deliver(writing.failure_of(id, refusal))
            return
        job = Job(id, id, work, code_of, deliver)
        self.add(job)
        self.queue(job)

    def add(self, job: Job) -> None:
        """Count it as in flight. The caller has asked for `refusal` first."""
        jobs = self._jobs
        jobs[job.key] = job
        if len(jobs) >= self._limit and self._input is not None:
            self._pause_input(*self._input)

    def _pause_input(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        if self._backpressure is None:
            from clawft.gateway.backpressure import Backpressure  # few callers send so many requests

            self._backpressure = Backpressure(self._limit, pause, resume)
        self._backpressure.turn_on()

    def queue(self, job: Job) -> None:
        """Have a worker run it."""
        self._queue.append(job)
        if len(self._queue) == 1:
            self._wake_worker()

    def _wake_worker(self) -> None:
        """Wake one worker for the queue. If that has to wait for something, `_look_again` wakes others for the rest."""
        self._wake(1)
        self._loop.call_soon(self._look_again)

    def _look_again(self) -> None:
        """As many workers as queued calls, all in one turn of the loop, so that their messages go out together."""
        if self._queue:
            self._wake(len(self._queue))
            self._loop.call_soon(self._look_again)

    def _wake(self, count: int) -> None:
        while count > 0 and self._idle:
            idle = self._idle.pop()
            if not idle.done():
                idle.set_result(None)
                count -= 1
        for _ in range(count):
            worker = self._loop.create_task(self._live_as_worker())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    async def _live_as_worker(self) -> None:
        loop = self._loop
        me = asyncio.current_task(loop)
        clean = copy_context()
        while me is not None:
            while self._queue:
                job = self._queue.popleft()
                if job.cancelled:
                    answer = self._not_run(job)
                else:
                    job.task = me
                    try:
                        answer = writing.result(job.id, await job.work)
                    except BaseException as ended:  # noqa: BLE001 - raised again if it is not about this job
                        answer = self._failed(job, me, ended)
                    finally:
                        self.forget(job)
                    if job.cancelled:  # a tool may not let itself be cancelled
                        answer = self._cancelled(job, me)
                if job.deliver is not None:
                    job.deliver(answer)
                if copy_context() != clean:
                    loop.call_soon(self._look_again, context=clean)
                    return  # what one call set in its context, the next must not see: a new worker goes on
                job, answer = None, NOTHING  # either may be large, and a worker may be idle for long
            if len(self._idle) >= MAX_IDLE_WORKERS:
                return
            idle = loop.create_future()
            self._idle.append(idle)
            await idle

    # ── over HTTP ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run_here(self, key: bytes, id: bytes, work: Work, code_of: CodeOf) -> bytes:
        """Run it in the current task, which is its own. NOTHING if it was cancelled through us, by its `key`."""
        refusal = self.refusal(key)
        me = asyncio.current_task(self._loop)
        if refusal is not None or me is None:
            work.close()
            return writing.failure_of(id, refusal or Busy("there is no task to run in"))
        job = self._jobs[key] = Job(key, id, work, code_of)
        job.task = me
        try:
            answer = writing.result(id, await work)
        except BaseException as ended:  # noqa: BLE001 - raised again if it is not about this request
            answer = self._failed(job, me, ended)
        finally:
            self.forget(job)
        return self._cancelled(job, me) if job.cancelled else answer

    # ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _failed(self, job: Job, me: asyncio.Task[Any], ended: BaseException) -> bytes:
        """The answer to a request that raised; exactly one, whatever broke."""
        from clawft.provider.failure import is_failure  # most requests have a result

        if is_failure(ended) or isinstance(ended, RunEnded):  # also what prompts and resources let out
            return failure_of(job.id, ended, job.code_of)
        if isinstance(ended, asyncio.CancelledError):
            if job.cancelled and me.cancelling() <= 1:
                return NOTHING
            self._interrupted(job, me)
        raise ended  # it was our task that was cancelled, and not, or not only, the request

    def _interrupted(self, job: Job, me: asyncio.Task[Any]) -> None:
        """The task that runs the request was cancelled from outside: answer for it before the task ends."""
        if job.cancelled:
            me.uncancel()
        if job.deliver is not None:
            interrupted = writing.failure(job.id, INTERNAL_ERROR, "interrupted: the task of this call was cancelled")
            job.deliver(self.last_word(job) if job.cancelled or self._closing else interrupted)

    def _not_run(self, job: Job) -> bytes:
        """Cancelled while it was queued."""
        job.work.close()
        self.forget(job)
        return self.last_word(job)

    def _cancelled(self, job: Job, me: asyncio.Task[Any]) -> bytes:
        """The answer to a request that was cancelled while a worker ran it; the worker itself goes on."""
        me.uncancel()
        return self.last_word(job)

    def last_word(self, job: Job) -> bytes:
        """The answer to a cancelled request: NOTHING if its caller cancelled it, an error if all of them were ended."""
        if not self._closing or job.key.startswith(_CANCELLED):
            return NOTHING
        return writing.failure(job.id, INTERNAL_ERROR, self._last_word)

    def forget(self, job: Job) -> None:
        del self._jobs[job.key]
        if not self._jobs and self._emptied is not None:
            self._emptied.set()
        if self._backpressure is not None and self._backpressure.is_on:
            self._backpressure.request_ended(len(self._jobs))

    def refusal(self, key: bytes) -> ClawftError | None:
        if self._closing:
            return Busy("shutting down", hint="connect again")
        if key in self._jobs:
            return BadEnvelope(f"the id {key[:100].decode('utf-8', 'replace')} is in use by a request in flight")
        if len(self._jobs) >= self._limit:
            return Busy(f"busy: {self._limit} requests are in flight on this connection", hint="wait for some answers")
        return None

    def cancel(self, key: bytes, details: bytes = b"") -> None:
        """Stop it; nothing more is sent for this id. Unknown ids are fine: the answer may just have gone out.

        The caller may use the id again at once, so until it has ended the request is kept under a key of our own.
        """
        job = self._jobs.pop(key, None)
        if job is not None:
            job.key = b"%b %d" % (_CANCELLED, id(job))
            self._jobs[job.key] = job
            job.cancel(details)

    def end_all(self, why: str) -> None:
        """Answer all of them with this error, and any that still come."""
        self._closing = True
        self._last_word = why
        self._cancel_all()

    def _cancel_all(self) -> None:
        for job in list(self._jobs.values()):
            job.cancel()

    async def drain(self, grace: float) -> None:
        """Refuse new requests, let the running ones finish, then end them with a clear error."""
        self._closing = True
        if not await self._empty_within(grace):
            self._cancel_all()
            await self._empty_within(_LAST_SECONDS)
        workers = list(self._workers)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    async def _empty_within(self, seconds: float) -> bool:
        if not self._jobs:
            return True
        self._emptied = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await self._emptied.wait()
        except TimeoutError:
            return False
        return True


def answered_now(id: bytes, work: Callable[[], bytes], code_of: CodeOf) -> bytes:
    """The answer of a request that needs no waiting."""
    try:
        return writing.result(id, work())
    except Exception as error:  # noqa: BLE001 - exactly one answer, whatever breaks
        return failure_of(id, error, code_of)


def failure_of(id: bytes, error: BaseException, code_of: CodeOf) -> bytes:
    """The error answer. Our own errors are sent in full; any other goes to the log, and the caller hears no details."""
    if isinstance(error, ClawftError):
        return writing.failure_of(id, error, code_of(error))
    if isinstance(error, RecursionError):  # the decoder allows deeper nesting than the code that works on the arguments
        return writing.failure(id, INTERNAL_ERROR, "nested too deeply: the arguments, or the work on them")
    log.error("handling a request failed", exc_info=error)
    return writing.failure(id, INTERNAL_ERROR, "internal error")

"""Requests in flight on one connection: bounded, cancelled by id, and waited for at the end."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import cached_property
from typing import Any

from clawft.errors import INTERNAL_ERROR, BadEnvelope, Busy, ClawftError
from clawft.gateway.crowd import Crowd
from clawft.model import RunEnded
from clawft.wire.jsonrpc import writing

MAX_IN_FLIGHT = 1_024
MAX_IDLE_WORKERS = 64
_LAST_SECONDS = 2.0
LAST_WORD = "shutting down: the call did not finish in time, and may have been done all the same"

log = logging.getLogger("clawft.gateway")

Work = Coroutine[Any, Any, bytes]
"""Gives the bare result of a request, or raises."""
Deliver = Callable[[bytes], None]
CodeOf = Callable[[ClawftError], int]
"""The code of an error in the caller's dialect."""

NOTHING = b""
"""What a cancelled request is answered with."""
_TAKEN_BACK = b"taken back"
"""How the keys of those begin whose sender has cancelled them; no id does."""


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

    def cancel(self, beside: bytes = b"") -> None:
        """`beside`: what the caller says with it, for whoever is told further on."""
        if not self.cancelled:
            self.cancelled = True
            if self.task is not None:
                self.task.cancel(beside or None)


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
        self._crowd: Crowd | None = None
        """Where the input can wait."""

    def __len__(self) -> int:
        return len(self._jobs)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """Ours for good: to ask for it costs a system call each time."""
        return asyncio.get_running_loop()

    def when_crowded(self, stop: Callable[[], None], go_on: Callable[[], None]) -> None:
        """The input can wait: it is told to when as many are in flight as may be."""
        self._crowd = Crowd(self._limit, stop, go_on)

    # ── from a pipe ──────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, id: bytes, work: Work, code_of: CodeOf, deliver: Deliver) -> None:
        """Have it run soon. Delivered is its answer, the refusal to run it, or NOTHING if it was cancelled."""
        refusal = self.refusal(id)
        if refusal is not None:
            work.close()
            deliver(writing.failure_of(id, refusal))
            return
        job = Job(id, id, work, code_of, deliver)
        self.add(job)
        self.queue(job)

    def add(self, job: Job) -> None:
        """It is in flight from now on. `refusal` was asked for first."""
        jobs = self._jobs
        jobs[job.key] = job
        if len(jobs) >= self._limit and self._crowd is not None:
            self._crowd.gather()

    def queue(self, job: Job) -> None:
        """Have a worker run it."""
        self._queue.append(job)
        if len(self._queue) == 1:
            self._wake_worker()

    def _wake_worker(self) -> None:
        """One worker for the queue. What it leaves there, because it has to wait, is for others: see below."""
        self._wake(1)
        self._loop.call_soon(self._look_again)

    def _look_again(self) -> None:
        """Calls that wait: as many workers as calls, all in one turn, so that their messages go out together."""
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
                        answer = self._instead(job, me, ended)
                    finally:
                        self.forget(job)
                    if job.cancelled:  # a tool may not let itself be cancelled
                        answer = self._taken_back(job, me)
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
            answer = self._instead(job, me, ended)
        finally:
            self.forget(job)
        return self._taken_back(job, me) if job.cancelled else answer

    # ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _instead(self, job: Job, me: asyncio.Task[Any], ended: BaseException) -> bytes:
        """The answer where there is no result: exactly one, whatever broke."""
        from clawft.provider.failure import is_failure  # most requests have a result

        if is_failure(ended) or isinstance(ended, RunEnded):  # also what prompts and resources let out
            return failure_of(job.id, ended, job.code_of)
        if isinstance(ended, asyncio.CancelledError):
            if job.cancelled and me.cancelling() <= 1:
                return NOTHING
            self._interrupted(job, me)
        raise ended  # it was our task that was cancelled, and not, or not only, the request

    def _interrupted(self, job: Job, me: asyncio.Task[Any]) -> None:
        """The task ends with its request, and no other speaks for it."""
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

    def _taken_back(self, job: Job, me: asyncio.Task[Any]) -> bytes:
        """The task that ran a cancelled request goes on."""
        me.uncancel()
        return self.last_word(job)

    def last_word(self, job: Job) -> bytes:
        """The answer to a request that was cancelled: something only if it was by us, because we stop."""
        if not self._closing or job.key.startswith(_TAKEN_BACK):
            return NOTHING
        return writing.failure(job.id, INTERNAL_ERROR, LAST_WORD)

    def forget(self, job: Job) -> None:
        del self._jobs[job.key]
        if not self._jobs and self._emptied is not None:
            self._emptied.set()
        if self._crowd is not None and self._crowd.is_here:
            self._crowd.leave(len(self._jobs))

    def refusal(self, key: bytes) -> ClawftError | None:
        if self._closing:
            return Busy("shutting down", hint="connect again")
        if key in self._jobs:
            return BadEnvelope(f"the id {key[:100].decode('utf-8', 'replace')} is in use by a request in flight")
        if len(self._jobs) >= self._limit:
            return Busy(f"busy: {self._limit} requests are in flight on this connection", hint="wait for some answers")
        return None

    def cancel(self, key: bytes, beside: bytes = b"") -> None:
        """Stop it; nothing more is sent for this id. Unknown ids are fine: the answer may just have gone out.

        Its sender is done with it and may use the id again; it counts under a name of ours until it has really ended.
        """
        job = self._jobs.pop(key, None)
        if job is not None:
            job.key = b"%b %d" % (_TAKEN_BACK, id(job))
            self._jobs[job.key] = job
            job.cancel(beside)

    def cancel_all(self) -> None:
        for job in list(self._jobs.values()):
            job.cancel()

    async def drain(self, grace: float) -> None:
        """Refuse new requests, let the running ones finish, then end them with a clear error."""
        self._closing = True
        if not await self._empty_within(grace):
            self.cancel_all()
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
    """The answer to what needs no waiting."""
    try:
        return writing.result(id, work())
    except Exception as error:  # noqa: BLE001 - exactly one answer, whatever breaks
        return failure_of(id, error, code_of)


def failure_of(id: bytes, error: BaseException, code_of: CodeOf) -> bytes:
    """Our own errors in full; of anything else the log gets all and the caller nothing of our insides."""
    if isinstance(error, ClawftError):
        return writing.failure_of(id, error, code_of(error))
    if isinstance(error, RecursionError):  # the door reads a little deeper than the rooms behind it
        return writing.failure(id, INTERNAL_ERROR, "nested too deeply: the arguments, or the work on them")
    log.error("a request broke", exc_info=error)
    return writing.failure(id, INTERNAL_ERROR, "internal error")

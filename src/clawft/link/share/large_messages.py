"""Work on large messages in one worker thread: one job at a time in the whole process, in fair order.

On the loop such a job would delay every small message, and several threads would delay it even more. Jobs wait in one
queue for each owner, and the owner that has used the least time is next. While the worker is busy, no further large
message is read.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from clawft.link.share.memory_budget import MEMORY_BUDGET
from clawft.link.share.turns import TURNS
from clawft.wire.visible import is_plain

if TYPE_CHECKING:  # loaded with the first large message
    from queue import SimpleQueue

LARGE_WORK = 256 * 1024
"""Bytes of a message up to which the work on it is done on the loop, at once."""
LARGE_PLAIN = 2 * 1024 * 1024
"""Bytes up to which a plain message is: ASCII without escapes, in which nothing can be hidden."""

MAX_PRODUCERS = 2
"""How many large texts of our own are produced at a time: one of megabytes is in memory several times over."""
DRAIN_SECONDS = 1.0
"""How long a producer waits at most for the worker to finish what came before."""

T = TypeVar("T")
_Job = tuple[Callable[[], Any], asyncio.Future[Any]]

_clock = time.monotonic


def is_cheap(message: bytes) -> bool:
    """Whether the message is so small, or so plain, that the steps every message takes can be done on the loop."""
    size = len(message)
    return size <= LARGE_WORK or (size <= LARGE_PLAIN and b"\\" not in message and is_plain(message))


async def process_message(message: bytes, owner: str, work: Callable[[], T]) -> T:
    """The result of `work`, done at once if the message is cheap. `owner`, a server's name, decides about its turn."""
    return work() if is_cheap(message) else await in_worker(owner, work)


async def search_message(message: bytes, owner: str, work: Callable[[], T]) -> T:
    """The result of `work` that searches all of the message: that takes longer, so only a short one is done at once."""
    return work() if len(message) <= LARGE_WORK else await in_worker(owner, work)


async def in_worker(owner: str, work: Callable[[], T]) -> T:
    """The result of `work`, done in the worker thread."""
    return await _worker().do(owner, work)


async def produce_large(make: Callable[[], T], size_of: Callable[[T], int]) -> T:
    """The value that `make` returns, made in a thread. If it is large, wait until the worker has finished
    earlier work.
    """
    worker = _worker()
    async with worker.producers:
        made = await asyncio.to_thread(make)
        if size_of(made) > LARGE_WORK:  # what is small waits for nobody
            await worker.drain()
        return made


class LargeMessageWorker:
    """The queues and the thread of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._jobs: SimpleQueue[_Job | None] | None = None
        """Jobs for the thread, which is started with the first."""
        self._queues: dict[str, deque[_Job]] = {}
        self._used: dict[str, float] = {}
        """Seconds each owner has used since the queues were empty. A new owner begins with as many as the lowest."""
        self._working: asyncio.Task[None] | None = None
        self.producers = asyncio.Semaphore(MAX_PRODUCERS)

    async def drain(self) -> None:
        """Wait until the queues are empty, but not for ever: others may bring work without end."""
        if self._working is not None:
            await asyncio.wait({self._working}, timeout=DRAIN_SECONDS)

    async def do(self, owner: str, work: Callable[[], T]) -> T:
        done: asyncio.Future[list[T]] = self.loop.create_future()
        self._used.setdefault(owner, min(self._used.values(), default=0.0))
        job = (work, done)
        self._queues.setdefault(owner, deque()).append(job)
        if self._working is None:
            TURNS.begin_work()  # now, as in a single turn of the loop megabytes are read
            self._working = self.loop.create_task(self._work())
        try:
            return (await done).pop()  # whoever wakes us up has the future in its hands, and so had the result
        except asyncio.CancelledError:
            self._forget(owner, job)
            raise

    def _forget(self, owner: str, job: _Job) -> None:
        """Drop a job that nobody waits for: what it would work on may be large."""
        jobs = self._queues.get(owner)
        if jobs is not None and job in jobs:
            jobs.remove(job)
            if not jobs:
                del self._queues[owner]

    async def _work(self) -> None:
        try:
            while self._queues:
                owner = min(self._queues, key=self._used.__getitem__)
                began = _clock()
                await self._run(*self._next(owner))
                self._used[owner] += _clock() - began
                MEMORY_BUDGET.enforce()  # some of it may have been kept
                await _yield_to_others()
        finally:
            self._working = None
            self._used.clear()
            TURNS.end_work()

    def _next(self, owner: str) -> _Job:
        jobs = self._queues[owner]
        job = jobs.popleft()
        if not jobs:
            del self._queues[owner]
        return job

    async def _run(self, work: Callable[[], Any], done: asyncio.Future[Any]) -> None:
        if done.done():  # nobody waits for it any more
            return
        if self._jobs is None:
            from queue import SimpleQueue  # most messages are small

            self._jobs = SimpleQueue()
            Thread(target=self._serve, args=(self._jobs,), name="clawft-large", daemon=True).start()
        over: asyncio.Future[Any] = self.loop.create_future()
        self._jobs.put((work, over))
        try:
            _set_result(done, await over)
        except Exception as failed:  # noqa: BLE001 - for whoever waits
            _set_exception(done, failed)

    def _serve(self, jobs: SimpleQueue[_Job | None]) -> None:
        """Run jobs in the thread, a daemon: nobody waits for it when the program ends."""
        while (job := jobs.get()) is not None:
            work, over = job
            try:
                callback = partial(_set_result, over, [work()])
            except Exception as failed:  # noqa: BLE001 - for whoever waits
                callback = partial(_set_exception, over, failed)
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                self.loop.call_soon_threadsafe(callback)
            del job, work, over, callback  # all of them may be large

    def close(self) -> None:
        if self._jobs is not None:
            self._jobs.put(None)


def _set_result(waiting: asyncio.Future[Any], result: object) -> None:
    if not waiting.done():
        waiting.set_result(result)


def _set_exception(waiting: asyncio.Future[Any], failed: Exception) -> None:
    if not waiting.done():
        waiting.set_exception(failed)


async def _yield_to_others() -> None:
    """Give the loop a few turns: the caller just served mostly has a next step with the same message."""
    for _ in range(5):
        await asyncio.sleep(0)


_open: list[LargeMessageWorker] = []


def _worker() -> LargeMessageWorker:
    """The worker of the running loop."""
    loop = asyncio.get_running_loop()
    if not _open or _open[0].loop is not loop:
        while _open:
            _open.pop().close()
        _open.append(LargeMessageWorker(loop))
    return _open[0]

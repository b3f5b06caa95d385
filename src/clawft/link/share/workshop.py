"""Work on large messages: beside the loop, one at a time in the whole process, in fair order.

A step over one large message takes so long that small ones would notice, and ten of them at once many times as long.
So it is done in a thread, which leaves the loop to others whenever they want it. Who has had more of its time waits
longer for the next; while it is at work, no further large message is read.
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
"""Bytes of a message up to which it is worked on at once, where it is."""
LARGE_PLAIN = 2 * 1024 * 1024
"""Bytes up to which a message is worked on at once in which there is nothing to be seen to."""

MAX_MAKERS = 2
"""At a time, of those that make something large of ours: a text of megabytes is in memory several times over."""
CALM_SECONDS = 1.0
"""For so long one of them waits until what was made before is on its way."""

T = TypeVar("T")
_Job = tuple[Callable[[], Any], asyncio.Future[Any]]

_clock = time.monotonic


def is_light(message: bytes) -> bool:
    """Whether all that is done to every message takes little time with this one."""
    size = len(message)
    return size <= LARGE_WORK or (size <= LARGE_PLAIN and b"\\" not in message and is_plain(message))


async def worked_on(message: bytes, whose: str, work: Callable[[], T]) -> T:
    """What this work on a message gives. Whose it is, by the name of a server, decides about its turn."""
    return work() if is_light(message) else await in_turn(whose, work)


async def searched(message: bytes, whose: str, work: Callable[[], T]) -> T:
    """What this work gives that searches all of a message: it takes longer, so only short ones are searched at once."""
    return work() if len(message) <= LARGE_WORK else await in_turn(whose, work)


async def in_turn(whose: str, work: Callable[[], T]) -> T:
    return await _workshop().do(whose, work)


async def made_in_turn(make: Callable[[], T], size_of: Callable[[T], int]) -> T:
    """What a thread makes that may be large: few at a time, and no more while what was made waits to be worked on."""
    workshop = _workshop()
    async with workshop.makers:
        made = await asyncio.to_thread(make)
        if size_of(made) > LARGE_WORK:  # what is small waits for nobody
            await workshop.calm()
        return made


class Workshop:
    """Of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._bench: SimpleQueue[_Job | None] | None = None
        """Where the thread finds its next job."""
        self._waiting: dict[str, deque[_Job]] = {}
        self._had: dict[str, float] = {}
        """Seconds that each has had since nobody was waiting. Who comes later begins with as many as the last."""
        self._working: asyncio.Task[None] | None = None
        self.makers = asyncio.Semaphore(MAX_MAKERS)

    async def calm(self) -> None:
        """Until nothing waits here, within bounds: others may bring work without end."""
        if self._working is not None:
            await asyncio.wait({self._working}, timeout=CALM_SECONDS)

    async def do(self, whose: str, work: Callable[[], T]) -> T:
        done: asyncio.Future[list[T]] = self.loop.create_future()
        self._had.setdefault(whose, min(self._had.values(), default=0.0))
        job = (work, done)
        self._waiting.setdefault(whose, deque()).append(job)
        if self._working is None:
            TURNS.begin_work()  # now, as in a single turn of the loop megabytes are read
            self._working = self.loop.create_task(self._work())
        try:
            return (await done).pop()  # whoever wakes us up has the future in its hands, and so had the result
        except asyncio.CancelledError:
            self._forget(whose, job)
            raise

    def _forget(self, whose: str, job: _Job) -> None:
        """Nobody wants it any more, and what it would work on may be large."""
        jobs = self._waiting.get(whose)
        if jobs is not None and job in jobs:
            jobs.remove(job)
            if not jobs:
                del self._waiting[whose]

    async def _work(self) -> None:
        try:
            while self._waiting:
                whose = min(self._waiting, key=self._had.__getitem__)
                began = _clock()
                await self._run(*self._next(whose))
                self._had[whose] += _clock() - began
                MEMORY_BUDGET.enforce()  # some of it may have been kept
                await _few_turns()
        finally:
            self._working = None
            self._had.clear()
            TURNS.end_work()

    def _next(self, whose: str) -> _Job:
        jobs = self._waiting[whose]
        job = jobs.popleft()
        if not jobs:
            del self._waiting[whose]
        return job

    async def _run(self, work: Callable[[], Any], done: asyncio.Future[Any]) -> None:
        if done.done():  # nobody waits for it any more
            return
        if self._bench is None:
            from queue import SimpleQueue  # most messages are small

            self._bench = SimpleQueue()
            Thread(target=self._serve, args=(self._bench,), name="clawft-large", daemon=True).start()
        over: asyncio.Future[Any] = self.loop.create_future()
        self._bench.put((work, over))
        try:
            _tell(done, await over)
        except Exception as failed:  # noqa: BLE001 - for whoever waits
            _fail(done, failed)

    def _serve(self, bench: SimpleQueue[_Job | None]) -> None:
        """In the thread, which nobody waits for when the program ends."""
        while (job := bench.get()) is not None:
            work, over = job
            try:
                told = partial(_tell, over, [work()])
            except Exception as failed:  # noqa: BLE001 - for whoever waits
                told = partial(_fail, over, failed)
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                self.loop.call_soon_threadsafe(told)
            del job, work, over, told  # all of them may be large

    def close(self) -> None:
        if self._bench is not None:
            self._bench.put(None)


def _tell(waiting: asyncio.Future[Any], result: object) -> None:
    if not waiting.done():
        waiting.set_result(result)


def _fail(waiting: asyncio.Future[Any], failed: Exception) -> None:
    if not waiting.done():
        waiting.set_exception(failed)


async def _few_turns() -> None:
    """Of the loop: whoever was served mostly has a next step with the same message, and is done with it sooner."""
    for _ in range(5):
        await asyncio.sleep(0)


_open: list[Workshop] = []


def _workshop() -> Workshop:
    """There is one, and a new one only with a new loop."""
    loop = asyncio.get_running_loop()
    if not _open or _open[0].loop is not loop:
        while _open:
            _open.pop().close()
        _open.append(Workshop(loop))
    return _open[0]

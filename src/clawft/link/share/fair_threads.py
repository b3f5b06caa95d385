"""Work of seconds in threads, shared out fairly: threads are few, and everybody's short work needs them, too.

So few of these are at work at a time, and fewer of one caller: whoever asks for a hundred waits for them, and nobody
else does. A thread cannot be stopped; what was given up by its caller keeps its place until it has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class FairThreads:
    def __init__(self, most: int, most_of_one: int) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._loop: asyncio.AbstractEventLoop | None = None
        self._all = asyncio.Semaphore(most)
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """Each for as long as somebody waits there."""

    async def run(self, whose: str, work: Callable[[], T]) -> T:
        begun = asyncio.Event()
        task = asyncio.create_task(self._in_turn(whose, work, begun))
        task.add_done_callback(_heard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not begun.is_set():
                task.cancel()
            raise
        finally:
            del task  # it has the error, that has this frame, and all of it what was worked on

    async def _in_turn(self, whose: str, work: Callable[[], T], begun: asyncio.Event) -> T:
        async with self._of(whose), self._all:
            begun.set()
            return await asyncio.to_thread(work)

    def _of(self, whose: str) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._all = loop, asyncio.Semaphore(self._most)
            self._own.clear()
        own = self._own.get(whose)
        if own is None:
            own = self._own[whose] = asyncio.Semaphore(self._most_of_one)
        return own


def _heard(task: asyncio.Task[object]) -> None:
    """Of one that was given up nobody else asks how it ended."""
    if not task.cancelled():
        task.exception()

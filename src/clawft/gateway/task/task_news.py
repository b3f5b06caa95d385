"""Forwards changes of one task: small ones at once, large ones after work in a thread, and of many only the last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from clawft.link.share.large_messages import in_worker, is_cheap

ReshapeWork = Callable[[], bytes]


class TaskNews:
    """Forwards to one listener. The state of a task is complete each time, so one that is overtaken is dropped."""

    def __init__(self, whose: str, work: Callable[[bytes], ReshapeWork], tell: Callable[[bytes], None]) -> None:
        """`whose`: the name of the task's server. `work` gives what is still to do to a state, in any thread."""
        self._whose = whose
        self._work_on = work
        self._tell = tell
        self._next = b""
        self._working: asyncio.Task[None] | None = None

    def hear(self, shape: bytes) -> None:
        if self._working is not None:
            self._next = shape
        elif is_cheap(shape):
            self._tell(self._work_on(shape)())
        else:
            self._next = shape
            self._working = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._next:
                shape, self._next = self._next, b""
                self._tell(await in_worker(self._whose, self._work_on(shape)))
        finally:
            self._working = None

    def end(self) -> None:
        if self._working is not None:
            self._working.cancel()

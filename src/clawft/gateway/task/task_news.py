"""News of a task, told on as they come: small ones at once, large ones after the work on them, and of many the last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from clawft.link.share.large_messages import in_worker, is_cheap

ReshapeWork = Callable[[], bytes]


class TaskNews:
    """For one listener. A shape of a task says all there is: one that is overtaken is of no interest."""

    def __init__(self, whose: str, work: Callable[[bytes], ReshapeWork], tell: Callable[[bytes], None]) -> None:
        """`whose`: the name of the server whose task it is. `work` gives what is still to do, anywhere, to a shape."""
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

"""How long an answer may take: a deadline that signs of life extend, up to a hard limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from clawft.errors import RequestTimeout

T = TypeVar("T")


class Patience:
    """One request's deadline: `begin` and `end` belong to the link, `extend` to whoever sees progress."""

    __slots__ = ("_expire", "_hard", "_loop", "_seconds", "_timer", "_until", "_what", "expired")

    def __init__(self, what: str, seconds: float, hard_seconds: float | None = None) -> None:
        self._what = what
        self._seconds = seconds
        self._hard = hard_seconds or seconds
        self._timer: asyncio.TimerHandle | None = None
        self.expired = False

    def begin(self, expire: Callable[[], object]) -> None:
        """`expire` is called once, when time is up."""
        self._loop = asyncio.get_running_loop()
        self._expire = expire
        self._until = self._loop.time() + self._hard
        self._timer = self._loop.call_later(self._seconds, self._time_is_up)

    def extend(self) -> None:
        """A sign of life: the time runs anew, within the hard limit."""
        if self._timer is None:
            return
        self._timer.cancel()
        left = self._until - self._loop.time()
        self._timer = self._loop.call_later(max(0.0, min(self._seconds, left)), self._time_is_up)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def timeout(self) -> RequestTimeout:
        return RequestTimeout(self._what, int(self._seconds * 1000))

    def _time_is_up(self) -> None:
        self._timer = None
        self.expired = True
        self._expire()


async def within(patience: Patience | None, work: Awaitable[T]) -> T:
    """What comes of the work, or RequestTimeout when patience ends first."""
    if patience is None:
        return await work
    try:
        async with asyncio.timeout(None) as scope:
            patience.begin(lambda: scope.reschedule(0))
            return await work
    except TimeoutError:
        if not patience.expired:
            raise
        raise patience.timeout() from None
    finally:
        patience.end()

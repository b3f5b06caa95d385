"""How long an answer may take: a deadline that signs of life extend, up to a hard limit.

Nearly every request is answered long before its deadline, so a timer for each would be the dearest part of a call. One
clock for all rings when the earliest of them is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

from clawft.errors import RequestTimeout

T = TypeVar("T")


class Patience:
    """One request's deadline: `begin` and `end` belong to the link, the rest to whoever follows the request.

    `extend` is for progress, `hold` and `release` for questions: while a person thinks, the server is not late.
    """

    due = inf
    stream: int | None = None
    """Our id of the request, where its answer has a stream of its own (HTTP)."""
    expired = False
    _clock: _Clock | None = None
    _holds = 0

    def __init__(self, what: str, seconds: float, hard_seconds: float | None = None) -> None:
        self._what = what
        self._seconds = seconds
        self._hard = hard_seconds or seconds

    def begin(self, expire: Callable[[], object], loop: asyncio.AbstractEventLoop) -> None:
        """`expire` is called once, when time is up. `loop` is the running one; to ask for it costs a system call."""
        clock = self._clock = _latest if _latest is not None and _latest.loop is loop else _clock_of(loop)
        now = loop.time()
        self._expire = expire
        self._until = now + self._hard
        self.due = now + self._seconds
        if self._holds:  # a question came between two requests that share this patience
            self._held = now
            return
        clock.waiting.add(self)
        if self.due < clock.rings_at:
            clock.add(self)

    def extend(self) -> None:
        """A sign of life: the time runs anew, within the hard limit."""
        if self._clock is not None and not self._holds:
            self.due = min(self._clock.loop.time() + self._seconds, self._until)

    def hold(self) -> None:
        """The time stands still until `release` has been called as often."""
        self._holds += 1
        if self._clock is not None and self._holds == 1:
            self._held = self._clock.loop.time()
            self._clock.drop(self)

    def release(self) -> None:
        self._holds -= 1
        if self._clock is not None and not self._holds:
            now = self._clock.loop.time()
            self._until += now - self._held
            self.due = min(now + self._seconds, self._until)
            self._clock.add(self)

    def end(self) -> None:
        if self._clock is not None:
            self._clock.waiting.discard(self)
            self._clock = None

    def left(self) -> float:
        """Seconds until the deadline as it was at first, for whoever tries again."""
        if self.due == inf:
            return self._seconds  # the link was lost before anything began
        return max(0.0, self._until - self._hard + self._seconds - asyncio.get_running_loop().time())

    def timeout(self, more: str = "") -> RequestTimeout:
        """After how long, signs of life included. `more` is what is known of why."""
        waited = self._seconds if self.due == inf else self.due - self._until + self._hard
        whole, quiet, most = (round(seconds * 1000) for seconds in (waited, self._seconds, self._hard))
        return RequestTimeout(self._what, whole, _of_what(whole, quiet, most) + more)

    def ring(self) -> None:
        """Time is up."""
        self._clock = None
        self.expired = True
        self._expire()


def _of_what(whole: int, quiet: int, most: int) -> str:
    """What was configured, where it is another time than that which has passed."""
    if whole <= quiet:
        return ""
    if whole >= most:
        return f", the most that signs of life make of {quiet} ms"
    return f", the last {quiet} ms of them without a sign of life"


class _Clock:
    """Everybody who waits in one event loop, and one timer for the first of them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: set[Patience] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.rings_at = inf

    def add(self, patience: Patience) -> None:
        self.waiting.add(patience)
        if patience.due < self.rings_at:
            self._set(patience.due)

    def drop(self, patience: Patience) -> None:
        self.waiting.discard(patience)

    def _set(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.rings_at = when
        self._timer = self.loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer, self.rings_at = None, inf
        now = self.loop.time()
        for patience in [each for each in self.waiting if each.due <= now]:
            self.waiting.discard(patience)
            patience.ring()
        if self.waiting:
            self._set(min(each.due for each in self.waiting))


_latest: _Clock | None = None


def _clock_of(loop: asyncio.AbstractEventLoop) -> _Clock:
    """There is hardly ever more than one loop."""
    global _latest  # noqa: PLW0603 - remembering the last loop's clock is what makes it cheap
    if _latest is None or _latest.loop is not loop:
        _latest = _Clock(loop)
    return _latest


async def within(patience: Patience | None, work: Awaitable[T]) -> T:
    """What comes of the work, or RequestTimeout when patience ends first."""
    if patience is None:
        return await work
    try:
        async with asyncio.timeout(None) as scope:
            patience.begin(lambda: scope.reschedule(0), asyncio.get_running_loop())
            return await work
    except TimeoutError:
        if not patience.expired:
            raise
        raise patience.timeout() from None
    finally:
        patience.end()

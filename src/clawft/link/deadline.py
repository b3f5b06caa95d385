"""How long an answer may take: a deadline that progress extends, up to a hard limit.

Nearly every request is answered long before its deadline, so that a timer for each would be the most expensive part of
a call. All deadlines of one event loop share one timer, set for the earliest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

from clawft.errors import RequestTimeout

T = TypeVar("T")


class Deadline:
    """The deadline of one request. The link calls `begin` and `end`; whoever follows the request calls the rest.

    `extend` is for progress. `hold` and `release` are for questions: while a person thinks, the server is not late.
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
        """Start the time; `expire` is called once, when it is up. `loop` is the running one: looking it up is slow."""
        clock = self._clock = _latest if _latest is not None and _latest.loop is loop else _clock_of(loop)
        now = loop.time()
        self._expire = expire
        self._until = now + self._hard
        self.due = now + self._seconds
        if self._holds:  # a question came between two requests that share this deadline
            self._held = now
            return
        clock.waiting.add(self)
        if self.due < clock.rings_at:
            clock.add(self)

    def extend(self) -> None:
        """The server reports progress: start the time again, within the hard limit."""
        if self._clock is not None and not self._holds:
            self.due = min(self._clock.loop.time() + self._seconds, self._until)

    def hold(self) -> None:
        """Stop the time until `release` has been called as often."""
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
        """Seconds until the deadline as it was set at first, for whoever tries again."""
        if self.due == inf:
            return self._seconds  # the link was lost before anything began
        return max(0.0, self._until - self._hard + self._seconds - asyncio.get_running_loop().time())

    def timeout(self, more: str = "") -> RequestTimeout:
        """The error that says after how long, extensions included. `more` is what is known of why."""
        waited = self._seconds if self.due == inf else self.due - self._until + self._hard
        waited_ms, quiet, most = (round(seconds * 1000) for seconds in (waited, self._seconds, self._hard))
        return RequestTimeout(self._what, waited_ms, _of_what(waited_ms, quiet, most) + more)

    def ring(self) -> None:
        """Called by the clock when the time is up."""
        self._clock = None
        self.expired = True
        self._expire()


def _of_what(whole: int, quiet: int, most: int) -> str:
    """The configured time that was exceeded, where it differs from the time that has passed."""
    if whole <= quiet:
        return ""
    if whole >= most:
        return f", the most that signs of life make of {quiet} ms"
    return f", the last {quiet} ms of them without a sign of life"


class _Clock:
    """All deadlines of one event loop, and one timer for the earliest of them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.rings_at = inf

    def add(self, deadline: Deadline) -> None:
        self.waiting.add(deadline)
        if deadline.due < self.rings_at:
            self._set(deadline.due)

    def drop(self, deadline: Deadline) -> None:
        self.waiting.discard(deadline)

    def _set(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.rings_at = when
        self._timer = self.loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer, self.rings_at = None, inf
        now = self.loop.time()
        for deadline in [each for each in self.waiting if each.due <= now]:
            self.waiting.discard(deadline)
            deadline.ring()
        if self.waiting:
            self._set(min(each.due for each in self.waiting))


_latest: _Clock | None = None


def _clock_of(loop: asyncio.AbstractEventLoop) -> _Clock:
    """The clock of this loop; a new one for a new loop, as there is hardly ever more than one."""
    global _latest  # noqa: PLW0603 - remembering the last loop's clock is what makes it cheap
    if _latest is None or _latest.loop is not loop:
        _latest = _Clock(loop)
    return _latest


async def within(deadline: Deadline | None, work: Awaitable[T]) -> T:
    """The result of `work`. Raises RequestTimeout when the deadline comes first."""
    if deadline is None:
        return await work
    try:
        async with asyncio.timeout(None) as scope:
            deadline.begin(lambda: scope.reschedule(0), asyncio.get_running_loop())
            return await work
    except TimeoutError:
        if not deadline.expired:
            raise
        raise deadline.timeout() from None
    finally:
        deadline.end()

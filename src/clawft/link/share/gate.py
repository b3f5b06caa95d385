"""A limit on concurrent calls, to one server or on this machine: some run, some are queued, the rest are refused.

The queue is fair: callers take turns; one who has nothing running gets an extra place beside the others; and when the
queue is full, the last call of the caller with most queued calls is refused for a newcomer.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable

from clawft.errors import Busy
from clawft.model import LOCAL, Caller

MAX_RUNNING = 64
MAX_QUEUED = 256
MAX_BESIDE = 16
"""Extra places beyond `MAX_RUNNING`, each for a caller who has no other call running."""

Who = Hashable
"""One of those who share a gate; callers who cannot be told apart count as one."""
_Turn = asyncio.Future[None]
_LAST_MOMENT = 0.01  # a call that gets its turn in it could only begin, and then be given up


def sharer(caller: Caller) -> Who:
    """The key under which a caller shares with others: a person with a token, or one agent of the person at this
    machine.

    What a client calls itself tells agents without a session apart; one that lies only shares with itself.
    """
    return caller.principal if caller.principal != LOCAL else (caller.session, caller.client)


def _nobody_told() -> None:
    pass


def _nobody_known(who: Who) -> bool:
    return True


class Gate:
    def __init__(
        self,
        name: str,
        running: int = MAX_RUNNING,
        queued: int = MAX_QUEUED,
        quiet: Callable[[], None] = _nobody_told,
        runs: Callable[[Who], bool] = _nobody_known,
        advice: str = "send fewer calls at a time, or raise timeout_ms of the server",
    ) -> None:
        """`quiet` is told when the last call has ended, `runs` says whether someone has a call running.

        `advice` is for whoever waited all the time it had.
        """
        self._name = name
        self._advice = advice
        self._quiet = quiet
        self._runs = runs
        self._running_limit = running
        self._queue_limit = queued
        self._queues: dict[Who, deque[_Turn]] = {}
        """The queues by owner; the owner whose turn is next comes first."""
        self._queued = 0
        self.running = 0

    def try_enter(self) -> bool:
        """Take a place if there is one; the usual case, and cheaper than `enter`."""
        if self.running >= self._running_limit:
            return False
        self.running += 1
        return True

    async def enter(self, who: Who = "", *, begun: bool = False) -> None:
        """Wait for a place. Raises Busy when the queue is full.

        One that has `begun` comes here again for its next step: it is never refused, and comes before its caller's
        others. So there are not many of these.
        """
        if self.try_enter():
            return
        if self._has_room_beside() and who not in self._queues and not self._runs(who):
            self.running += 1
            return
        turn: _Turn = asyncio.get_running_loop().create_future()
        self._queue(who, turn, begun)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._withdraw(who, turn)
            elif turn.exception() is None:
                self.leave()  # the place was given to us while we were leaving
            raise

    async def enter_within(self, seconds: float, who: Who = "", *, begun: bool = False) -> float:
        """Wait for a place, at most so long; returns the time that is left. Raises Busy, also when no time is left."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                await self.enter(who, begun=begun)
        except TimeoutError:
            raise self._waited(seconds) from None
        left = seconds - (time.monotonic() - began)
        if left < _LAST_MOMENT:
            self.leave()
            raise self._waited(seconds)
        return left

    def leave(self) -> None:
        """Hand the place to the next in the queue, or give it back."""
        if self._queues and self._hand_on():
            return
        self.running -= 1
        if not self.running:
            self._quiet()

    def let_go(self) -> None:
        """Forget the callbacks: the server is gone, and those who still have a place only give it back."""
        self._quiet, self._runs = _nobody_told, _nobody_known

    # ── the queue ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _has_room_beside(self) -> bool:
        return self.running < self._running_limit + MAX_BESIDE

    def _hand_on(self) -> bool:
        """Give the place to the next in the queue; an extra place only to a caller who has nothing running."""
        beside = self.running > self._running_limit
        while fitting := [who for who in self._queues if not (beside and self._runs(who))]:
            turn = self._next_of(fitting[0])
            if not turn.done():  # else it has been cancelled, and will be told so
                turn.set_result(None)
                return True
        return False

    def _queue(self, who: Who, turn: _Turn, begun: bool) -> None:
        if self._queued >= self._queue_limit and not begun:
            self._make_room(who)
        turns = self._queues.setdefault(who, deque())
        if begun:
            turns.appendleft(turn)
        else:
            turns.append(turn)
        self._queued += 1

    def _make_room(self, who: Who) -> None:
        greedy = max(self._queues, key=lambda other: len(self._queues[other]))
        if len(self._queues[greedy]) <= len(self._queues.get(who, ())) + 1:
            raise self._busy()
        last = self._queues[greedy][-1]
        self._withdraw(greedy, last)
        if not last.done():
            last.set_exception(self._busy())

    def _next_of(self, who: Who) -> _Turn:
        """The first in this caller's queue; the caller goes to the end of the line."""
        turns = self._queues.pop(who)
        self._queued -= 1
        turn = turns.popleft()
        if turns:
            self._queues[who] = turns
        return turn

    def _withdraw(self, who: Who, turn: _Turn) -> None:
        turns = self._queues.get(who)
        if turns is None or turn not in turns:
            return  # its place was handed to the next already
        turns.remove(turn)
        self._queued -= 1
        if not turns:
            del self._queues[who]

    def _waited(self, seconds: float) -> Busy:
        return Busy(
            f"{self._name} is busy: the call waited {seconds * 1000:.0f} ms for its turn, all the time it has",
            hint=self._advice,
        )

    def _busy(self) -> Busy:
        return Busy(
            f"{self._name} is busy: {self._running_limit} calls run and {self._queue_limit} wait",
            hint="try again when some have finished",
        )

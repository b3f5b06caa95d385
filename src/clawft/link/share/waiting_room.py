"""Large requests that wait until there is room for them: for a while, and one caller after the other.

They wait unread, so that a waiting one costs little. While some wait, a request that was let in and does not come is
sent away: a client that announces much and sends nothing must not keep out those who would send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from clawft.errors import Busy, LinkClosed
from clawft.link.share.load import REQUESTS, Load, Total

WAIT_SECONDS = 10.0
MAX_WAITING = 128
MAX_WAITING_EACH = 96
"""Of one caller."""
LOOK_SECONDS = 1.0
"""How often we look whether those who were let in come."""
PACE_BYTES = 64 * 1024
"""What has to come between two looks."""


def _stays() -> bool:
    return False


class _Waiter:
    __slots__ = ("caller", "granted", "size")

    def __init__(self, caller: str, size: int) -> None:
        self.caller = caller
        self.size = size
        self.granted: asyncio.Future[Load] = asyncio.get_running_loop().create_future()


class WaitingRoom:
    def __init__(self, total: Total) -> None:
        self._total = total
        self._waiting: list[_Waiter] = []
        self._turns = 0
        self._last_turn: dict[str, int] = {}
        """Of callers who wait for another one."""
        self._arriving: dict[Load, asyncio.Timeout] = {}
        self._seen: dict[Load, int] = {}
        """How much had arrived at the last look."""
        total.relieved = self._call

    async def enter(self, size: int, caller: str, has_left: Callable[[], bool] = _stays) -> Load:
        """Room for a request of this size. Raises Busy if there is none in time, or too many wait already; LinkClosed
        if whoever sends it `has_left` meanwhile.
        """
        if self._is_full(caller):
            raise self._total.busy()
        waiter = _Waiter(caller, size)
        self._waiting.append(waiter)
        self._call()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._until_granted(waiter, has_left)
        except BaseException as ended:
            self._leave(waiter)
            if isinstance(ended, TimeoutError):
                raise self._total.busy() from None
            raise
        return waiter.granted.result()

    async def _until_granted(self, waiter: _Waiter, has_left: Callable[[], bool]) -> None:
        while not waiter.granted.done():
            await asyncio.wait({waiter.granted}, timeout=LOOK_SECONDS)
            if has_left():
                raise LinkClosed("the caller left before its request was let in")
            if self._waiting and self._waiting[0] is waiter:
                self._look()

    def _is_full(self, caller: str) -> bool:
        if len(self._waiting) >= MAX_WAITING:
            return True
        return sum(waiter.caller == caller for waiter in self._waiting) >= MAX_WAITING_EACH

    def _call(self) -> None:
        """Let in who can be: whoever had no turn for longest comes first, and nobody passes one who waits for room."""
        total = self._total
        for waiter in sorted(self._waiting, key=lambda waiter: self._last_turn.get(waiter.caller, 0)):
            if not total.has_room(waiter.size):
                break
            if total.has_share(waiter.size, waiter.caller):
                self._let_in(waiter)

    def _let_in(self, waiter: _Waiter) -> None:
        self._waiting.remove(waiter)
        self._turns += 1
        self._last_turn[waiter.caller] = self._turns
        self._last_turn = {other.caller: self._last_turn.get(other.caller, 0) for other in self._waiting}
        waiter.granted.set_result(Load(self._total, waiter.size, waiter.caller))

    def _leave(self, waiter: _Waiter) -> None:
        if waiter in self._waiting:
            self._waiting.remove(waiter)
            self._call()
        elif waiter.granted.done():  # let in at the very moment it left
            waiter.granted.result().put_down()

    @contextmanager
    def coming(self, load: Load, patience: asyncio.Timeout) -> Generator[None]:
        """While it comes in. `patience` ends when it does not, and others wait."""
        self._arriving[load] = patience
        try:
            yield
        finally:
            del self._arriving[load]
            self._seen.pop(load, None)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        for load, patience in self._arriving.items():
            if load in self._seen and load.arrived - self._seen[load] < PACE_BYTES:
                patience.reschedule(now)
            self._seen[load] = load.arrived


LARGE_REQUESTS = WaitingRoom(REQUESTS)


def too_slow() -> Busy:
    return Busy("busy: others wait, and this request comes in too slowly", hint="try again in a moment")

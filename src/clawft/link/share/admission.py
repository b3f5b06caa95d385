"""Chooses which large requests are read when there is not room for all of them: a queue that is fair to callers.

A queued request is not read, so that it costs little. While some wait, an admitted request whose body comes too slowly
is refused: a client that announces much and sends nothing must not keep out the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from clawft.errors import Busy, LinkClosed
from clawft.link.share.byte_limits import REQUESTS, ByteLimit, Reservation

WAIT_SECONDS = 10.0
MAX_WAITING = 128
MAX_WAITING_EACH = 96
"""Of one caller."""
LOOK_SECONDS = 1.0
"""How often the bodies of admitted requests are checked for progress."""
PACE_BYTES = 64 * 1024
"""The bytes that have to come between two checks."""


def _stays() -> bool:
    return False


class _Waiter:
    __slots__ = ("caller", "granted", "size")

    def __init__(self, caller: str, size: int) -> None:
        self.caller = caller
        self.size = size
        self.granted: asyncio.Future[Reservation] = asyncio.get_running_loop().create_future()


class AdmissionQueue:
    def __init__(self, limit: ByteLimit) -> None:
        self._limit = limit
        self._waiting: list[_Waiter] = []
        self._turns = 0
        self._last_turn: dict[str, int] = {}
        """When each caller who still waits was last admitted, as a count of turns."""
        self._receiving: dict[Reservation, asyncio.Timeout] = {}
        self._seen: dict[Reservation, int] = {}
        """How much had come by the last check."""
        limit.on_release = self._admit

    async def enter(self, size: int, caller: str, has_left: Callable[[], bool] = _stays) -> Reservation:
        """Room for a request of this size. Raises Busy if there is none in time, or too many wait already; LinkClosed
        if whoever sends it `has_left` meanwhile.
        """
        if self._is_full(caller):
            raise self._limit.busy()
        waiter = _Waiter(caller, size)
        self._waiting.append(waiter)
        self._admit()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._until_granted(waiter, has_left)
        except BaseException as ended:
            self._leave(waiter)
            if isinstance(ended, TimeoutError):
                raise self._limit.busy() from None
            raise
        return waiter.granted.result()

    async def _until_granted(self, waiter: _Waiter, has_left: Callable[[], bool]) -> None:
        while not waiter.granted.done():
            await asyncio.wait({waiter.granted}, timeout=LOOK_SECONDS)
            if has_left():
                raise LinkClosed("the caller left before its request was let in")
            if self._waiting and self._waiting[0] is waiter:
                self._expire_slow()

    def _is_full(self, caller: str) -> bool:
        if len(self._waiting) >= MAX_WAITING:
            return True
        return sum(waiter.caller == caller for waiter in self._waiting) >= MAX_WAITING_EACH

    def _admit(self) -> None:
        """Admit who fits: the caller served least recently comes first, and nobody overtakes one who waits for room."""
        limit = self._limit
        for waiter in sorted(self._waiting, key=lambda waiter: self._last_turn.get(waiter.caller, 0)):
            if not limit.has_room(waiter.size):
                break
            if limit.has_share(waiter.size, waiter.caller):
                self._grant(waiter)

    def _grant(self, waiter: _Waiter) -> None:
        self._waiting.remove(waiter)
        self._turns += 1
        self._last_turn[waiter.caller] = self._turns
        self._last_turn = {other.caller: self._last_turn.get(other.caller, 0) for other in self._waiting}
        waiter.granted.set_result(Reservation(self._limit, waiter.size, waiter.caller))

    def _leave(self, waiter: _Waiter) -> None:
        if waiter in self._waiting:
            self._waiting.remove(waiter)
            self._admit()
        elif waiter.granted.done():  # admitted at the very moment it left
            waiter.granted.result().release()

    @contextmanager
    def receiving(self, reservation: Reservation, timeout: asyncio.Timeout) -> Generator[None]:
        """While the body comes in. If it comes too slowly and others wait, `timeout` is made to expire."""
        self._receiving[reservation] = timeout
        try:
            yield
        finally:
            del self._receiving[reservation]
            self._seen.pop(reservation, None)

    def _expire_slow(self) -> None:
        now = asyncio.get_running_loop().time()
        for reservation, timeout in self._receiving.items():
            if reservation in self._seen and reservation.received - self._seen[reservation] < PACE_BYTES:
                timeout.reschedule(now)
            self._seen[reservation] = reservation.received


LARGE_REQUESTS = AdmissionQueue(REQUESTS)


def too_slow() -> Busy:
    return Busy("busy: others wait, and this request comes in too slowly", hint="try again in a moment")

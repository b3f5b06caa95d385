"""Answers that a client has not taken yet: whoever writes more waits for room, and others may need it."""

import asyncio
from collections.abc import Callable

from clawft.link.share.unread import IDLE_SECONDS, Taker


class Backlog:
    """It knows nothing of its connection while the client keeps up: then both are gone at once."""

    __slots__ = ("_is_left", "_room", "_taker", "since")

    def __init__(self) -> None:
        self.since = 0.0
        """From when on the client did not keep up; 0 while it does."""
        self._is_left = False
        self._room: asyncio.Event | None = None
        self._taker: Taker | None = None

    def begin(self, now: float, size: Callable[[], int], cut_off: Callable[[int], None]) -> None:
        """`size`: bytes of answers that are here still. `cut_off`: it takes nothing, and others need the room."""
        self.since = now
        self._taker = self._taker or Taker(size, cut_off, patience=IDLE_SECONDS)
        self._taker.wait()

    def end(self) -> None:
        self.since = 0.0
        self._let_go()

    def leave(self) -> None:
        """The client has gone, and takes no more."""
        self._is_left = True
        self._let_go()

    def _let_go(self) -> None:
        if self._taker is not None:
            self._taker.took_all()
        if self._room is not None:
            self._room.set()

    async def taken(self) -> None:
        """Return once there is room to write; raises ConnectionResetError when the client has gone."""
        self._room = self._room or asyncio.Event()
        while self.since and not self._is_left:
            self._room.clear()
            await self._room.wait()
        if self._is_left:
            raise ConnectionResetError("the client has gone")

"""Answers that a client has not read yet: whoever writes more has to wait, and others may need the memory."""

import asyncio
from collections.abc import Callable

from clawft.link.share.unread_output import IDLE_SECONDS, SlowReader


class Backlog:
    """Refers to its connection only while the client lags, so that otherwise both are freed at once."""

    __slots__ = ("_is_left", "_room", "_slow_reader", "since")

    def __init__(self) -> None:
        self.since = 0.0
        """Since when the client has lagged; 0 while it keeps up."""
        self._is_left = False
        self._room: asyncio.Event | None = None
        self._slow_reader: SlowReader | None = None

    def begin(self, now: float, size: Callable[[], int], cut_off: Callable[[int], None]) -> None:
        """`size` gives the unsent bytes; `cut_off` is called if others need their memory."""
        self.since = now
        self._slow_reader = self._slow_reader or SlowReader(size, cut_off, grace=IDLE_SECONDS)
        self._slow_reader.lag()

    def end(self) -> None:
        self.since = 0.0
        self._let_go()

    def leave(self) -> None:
        """The client has disconnected."""
        self._is_left = True
        self._let_go()

    def _let_go(self) -> None:
        if self._slow_reader is not None:
            self._slow_reader.caught_up()
        if self._room is not None:
            self._room.set()

    async def wait_for_room(self) -> None:
        """Return once there is room to write; raises ConnectionResetError when the client has disconnected."""
        self._room = self._room or asyncio.Event()
        while self.since and not self._is_left:
            self._room.clear()
            await self._room.wait()
        if self._is_left:
            raise ConnectionResetError("the client has disconnected")

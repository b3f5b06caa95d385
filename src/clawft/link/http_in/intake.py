"""Whether we read what a client sends: not while anybody has a reason against it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum


class Hold(Enum):
    """A reason not to read. Each is taken back by whoever had it, and what is left of them counts."""

    PORCH = "it is not in yet"
    TURN = "others come first"
    BODY = "the application has more of a body before it than it takes"
    AHEAD = "more was sent ahead than is held here"


class Intake:
    """Of one connection."""

    __slots__ = ("_now", "_transport", "held_since", "holds")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.holds: set[Hold] = set()
        self.held_since = 0.0
        """From when on nothing is read; 0 while it is."""

    def attach(self, transport: asyncio.ReadTransport) -> None:
        self._transport = transport

    def hold(self, why: Hold) -> None:
        self.holds.add(why)
        if not self.held_since and not self._transport.is_closing():
            self.held_since = self._now()
            self._transport.pause_reading()

    def insist(self) -> None:
        """uvloop reads once before it is told not to."""
        self._transport.pause_reading()

    def let_go(self, why: Hold) -> float:
        """For how long nothing was read, if that ends now."""
        self.holds.discard(why)
        return 0.0 if self.holds or not self.held_since else self._go_on()

    def let_all_go(self) -> None:
        self.holds.clear()
        if self.held_since:
            self._go_on()

    def _go_on(self) -> float:
        if self._transport.is_closing():
            return 0.0
        waited, self.held_since = self._now() - self.held_since, 0.0
        self._transport.resume_reading()
        return waited

"""Stops reading a connection's input while too many of its requests are in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

STILL_SECONDS = 10.0
"""If no request ends for so long the input is read again: the requests may wait for something that comes there."""


class Backpressure:
    """Pauses the input at `limit` requests in flight and resumes it when half of them have ended.

    It also resumes when none of them ends any more: the input may hold the answers to their questions, or cancel them.
    Further requests are refused as "busy" then.
    """

    def __init__(self, limit: int, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._low_mark = limit // 2
        self._pause = pause
        self._resume = resume
        self.is_on = False
        self._one_ended = False
        """Whether a request has ended since the last check."""
        self._timer: asyncio.TimerHandle | None = None

    def turn_on(self) -> None:
        """Called with every request at or above the limit."""
        if not self.is_on:
            self.is_on = True
            self._pause()
            self._check_later()

    def request_ended(self, in_flight: int) -> None:
        self._one_ended = True
        if in_flight <= self._low_mark:
            self.is_on = False
            if self._timer is not None:
                self._timer.cancel()
            self._resume()

    def _check_later(self) -> None:
        self._one_ended = False
        self._timer = asyncio.get_running_loop().call_later(STILL_SECONDS, self._check)

    def _check(self) -> None:
        if self._one_ended:
            self._check_later()
        else:
            self._resume()

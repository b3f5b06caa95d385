"""Keeps calls open at a handshake server while their stateless agent finds an answer.

The agent gets the question and a signed handle, and comes back with both in a new request. There are bounds on calls in
all, calls of one caller, and the time a call may wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.errors import BadParams, Busy
from clawft.model import Caller

if TYPE_CHECKING:  # loaded with the first call
    from clawft.provider.server.question.open_call import OpenCall

PARKED_SECONDS = 600.0
MAX_PARKED = 1_000
MAX_PARKED_EACH = 128
"""Calls of one caller."""

log = logging.getLogger("clawft.upstream")


class _Parked(Struct):
    call: OpenCall
    principal: str
    timer: asyncio.TimerHandle


class ParkedCalls:
    """All waiting calls of all servers."""

    def __init__(self, seconds: float = PARKED_SECONDS, limit: int = MAX_PARKED, each: int = MAX_PARKED_EACH) -> None:
        self._seconds = seconds
        self._limit = limit
        self._each = each
        self._parked: dict[str, _Parked] = {}
        self._of: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._parked)

    def keep(self, call: OpenCall, caller: Caller) -> None:
        """Keep the call until its caller comes back or its time is up. Raises Busy if too many wait."""
        if len(self._parked) >= self._limit or self._of[caller.principal] >= self._each:
            call.end("too many calls are waiting for their agents' answers")
            raise Busy(
                f"busy: {len(self._parked)} calls wait for answers",
                hint="answer those first, or wait until they expire",
            )
        timer = asyncio.get_running_loop().call_later(self._seconds, self._expire, call.id)
        self._parked[call.id] = _Parked(call, caller.principal, timer)
        self._of[caller.principal] += 1

    def take(self, id: str, server: str, caller: Caller) -> OpenCall:
        """Take the call out. Raises BadParams if it has ended, is another caller's, or was taken already."""
        parked = self._parked.get(id)
        if parked is None or parked.principal != caller.principal or parked.call.server != server:
            raise BadParams(
                "the call this requestState belongs to has expired, has ended, or is already continuing",
                hint="call again without it",
            )
        self._leave(parked)
        return parked.call

    def _leave(self, parked: _Parked) -> None:
        parked.timer.cancel()
        del self._parked[parked.call.id]
        self._of[parked.principal] -= 1
        if not self._of[parked.principal]:
            del self._of[parked.principal]

    def _expire(self, id: str) -> None:
        parked = self._parked[id]
        self._leave(parked)
        log.info("%s: nobody answered within %g s", parked.call.server, self._seconds)
        parked.call.end(f"the agent did not answer within {self._seconds:g} s")

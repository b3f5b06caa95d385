"""Turns in which large messages of servers are read: each message has its bound, but all at once would be too much.

A reader reports how much it holds of a message that is not whole. The message that began first is always read to its
end. Others are read while there is room beside it; else their readers pause, and so do their senders. While somebody
waits, a message that comes too slowly is given up and its sender is served last from then on, so that no server blocks
the others by never ending one. While the worker has a large message no other is read, and for a time none is read while
callers do not take their answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Self

from clawft.errors import MessageTooLong
from clawft.link.share.memory_budget import MEMORY_BUDGET

ALONE_FROM = 64 * 1024
"""A message needs a turn from so many bytes on; smaller ones are bounded by the calls in flight."""
MAX_HELD_BYTES = 2 * 1024 * 1024
"""Of messages that are not whole, beside the one that began first."""
LOOK_SECONDS = 0.5
"""How often one that waits checks the progress of the others."""
PACE_SECONDS = 1.0
PACE_BYTES = 256 * 1024
"""How much of a message has to come in `PACE_SECONDS` while others wait."""
CALLERS_SECONDS = 5.0
"""How long a message waits for callers to take what was written for them; others ask its server, too."""

_clock = time.monotonic


class Turns:
    """The process has one, `TURNS`; tests make their own."""

    def __init__(self) -> None:
        self.held = 0
        self.taken: dict[Turn, None] = {}
        """The oldest first."""
        self._at_work = 0
        self._blocked = 0

    def may_go_on(self, turn: Turn) -> bool:
        if self._at_work or (self._blocked and not turn.waited_enough()):
            return False
        first = min(self.taken, key=_times_given_up)
        return turn is first or self.held - first.size <= MAX_HELD_BYTES

    def begin_work(self) -> None:
        """The worker has a whole message: it does not take long, see `large_messages`."""
        self._at_work += 1

    def end_work(self) -> None:
        self._at_work -= 1
        self.call()

    def block(self) -> None:
        """A caller on a pipe stops taking what is written for it."""
        self._blocked += 1

    def unblock(self) -> None:
        self._blocked -= 1
        self.call()

    def call(self) -> None:
        """Resume the readers that fit, as there may be room."""
        for turn in [turn for turn in self.taken if turn.waits]:
            if turn.waits and self.may_go_on(turn):
                turn.resume()

    def look(self) -> None:
        """Give up messages that come too slowly, and resume those that have waited long enough."""
        for turn in [turn for turn in self.taken if turn.is_slow()]:
            turn.sender.given_up += 1
            turn.end()
            turn.give_up()
        self.call()


TURNS = Turns()
MEMORY_BUDGET.add_required(lambda: TURNS.held)


class LinkSender:
    """The sender of messages: one link."""

    given_up = 0
    """How many of its messages were given up."""


class Turn:
    """The turn of one reader, while it is in the middle of a large message."""

    def __init__(self, sender: LinkSender, turns: Turns = TURNS) -> None:
        self.sender = sender
        self._turns = turns
        self._seen = 0.0
        self._size_seen = 0
        self._patient_until = 0.0
        self.size = 0
        """Bytes held; 0 if there is no large message."""
        self.waits = False

    def go_on(self) -> None:
        """Read on, after a wait."""
        raise NotImplementedError

    def give_up(self) -> None:
        """Read no more of this message."""
        raise NotImplementedError

    def hold(self, size: int) -> bool:
        """So many bytes of the message are held now. False: read no further until `go_on` is called."""
        if size < ALONE_FROM:
            self.end()
            return True
        turns = self._turns
        if not self.size:
            from clawft.link.share.heap import keep_large_blocks  # most programs never see a large message

            keep_large_blocks()
            turns.taken[self] = None
            self._patient_until = _clock() + CALLERS_SECONDS
            self._see(0)
        turns.held += size - self.size
        self.size = size
        MEMORY_BUDGET.enforce()
        waited, self.waits = self.waits, not turns.may_go_on(self)
        if self.waits and not waited:
            self._look_later()
        return not self.waits

    def _see(self, size: int) -> None:
        self._seen = _clock()
        self._size_seen = size

    def _look_later(self) -> None:
        asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        if self.waits:
            self._turns.look()
        if self.waits:
            self._look_later()

    def waited_enough(self) -> bool:
        return _clock() > self._patient_until

    def is_slow(self) -> bool:
        """Whether the message comes too slowly; never if its reader is paused itself."""
        if self.waits or _clock() < self._seen + PACE_SECONDS:
            return False
        came = self.size - self._size_seen
        self._see(self.size)
        return came < PACE_BYTES

    def resume(self) -> None:
        self.waits = False
        self._see(self.size)
        self.go_on()

    def end(self) -> None:
        """The message is whole, or nobody wants it any more."""
        if not self.size:
            return
        turns = self._turns
        del turns.taken[self]
        turns.held -= self.size
        self.size = 0
        self.waits = False
        asyncio.get_running_loop().call_soon(turns.call)  # not now: whoever works on it comes first


class AwaitedTurn(Turn):
    """A turn for a reader that is a task. As a context manager it raises MessageTooLong if the message was given up."""

    def __init__(self, sender: LinkSender, stop: Callable[[], None], turns: Turns = TURNS) -> None:
        """`stop` ends the read that is under way."""
        super().__init__(sender, turns)
        self._stop = stop
        self._granted: asyncio.Future[None] | None = None
        self._given_up = False

    async def wait(self, size: int) -> None:
        """So many bytes are held now: wait until more may be read, and yield to others in any case."""
        if self.hold(size):
            await asyncio.sleep(0)
            return
        self._granted = asyncio.get_running_loop().create_future()
        await self._granted

    def go_on(self) -> None:
        if self._granted is not None and not self._granted.done():
            self._granted.set_result(None)

    def give_up(self) -> None:
        self._given_up = True
        self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        if self._given_up:
            raise unended() from None


def _times_given_up(turn: Turn) -> int:
    return turn.sender.given_up


def unended() -> MessageTooLong:
    return MessageTooLong("the server did not end a large message, and others waited", hint="try again in a moment")

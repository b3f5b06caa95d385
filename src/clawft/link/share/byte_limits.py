"""How many bytes of large messages the whole process has in hand: limits for all callers or servers together.

A bound on each message, or on each caller, still lets a thousand of them add up. Small messages are not counted: their
number is bounded elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Self

from clawft.errors import Busy

COUNTED_BYTES = 16 * 1024
"""A message is large, and counted, from so many bytes on."""
MAX_REQUEST_BYTES = 12 * 1024 * 1024
"""Of large requests that come in or are being worked on. Each takes several times its size on its way through."""
MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Of large answers that their callers have not taken yet."""
MAX_QUESTION_BYTES = 4 * 1024 * 1024
"""Of large questions of servers that nobody has answered yet."""


def _nothing() -> None:
    pass


class ByteLimit:
    """How many bytes are reserved now, and may be. One named caller may have at most half of them."""

    def __init__(self, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        self.reserved = 0
        self.by_caller: Counter[str] = Counter()
        self.on_release: Callable[[], object] = _nothing

    def has_room(self, size: int, mine: int = 0) -> bool:
        """Whether there is room for `size` more. `mine` is reserved for the same message: one message alone always
        fits.
        """
        return self.reserved == mine or self.reserved + size <= self.limit

    def has_share(self, size: int, caller: str, mine: int = 0) -> bool:
        """Whether the caller's own half has room for `size` more."""
        reserved = self.by_caller[caller] if caller else mine
        return reserved == mine or reserved + size <= self.limit // 2

    def busy(self) -> Busy:
        return Busy(
            f"busy: too many large {self.what} at once, {self.limit} bytes at most", hint="try again in a moment"
        )


REQUESTS = ByteLimit("requests", MAX_REQUEST_BYTES)
ANSWERS = ByteLimit("answers", MAX_ANSWER_BYTES)
QUESTIONS = ByteLimit("questions", MAX_QUESTION_BYTES)


class Reservation:
    """The bytes of one message under a limit, until they are released."""

    def __init__(self, of: ByteLimit, size: int = 0, caller: str = "") -> None:
        """Raises Busy, as `add` does."""
        self._of = of
        self._size = 0
        self._caller = caller
        self.received = 0
        self.add(size)

    def add(self, size: int) -> None:
        """Reserve so many bytes more. Raises Busy if there is no room for them."""
        of = self._of
        if not (of.has_room(size, self._size) and of.has_share(size, self._caller, self._size)):
            raise of.busy()
        of.reserved += size
        self._size += size
        if self._caller:
            of.by_caller[self._caller] += size

    def count_received(self, size: int) -> None:
        """So many bytes have come in; what is more than was announced is reserved now. Raises Busy."""
        self.received += size
        if self.received > self._size:
            self.add(self.received - self._size)

    def release(self) -> None:
        of, size = self._of, self._size
        if not size:
            return
        self._size = 0
        of.reserved -= size
        if self._caller:
            of.by_caller[self._caller] -= size
            if not of.by_caller[self._caller]:
                del of.by_caller[self._caller]
        of.on_release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

"""The large messages we have in our hands, of all callers or servers together: a bound in bytes that no crowd can pass.

Each bound on one message, or on one of them, still lets a thousand add up. Small messages are not counted: their number
is bounded elsewhere.
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


class Total:
    """What is carried now, and may be. Whoever has a name has at most half of it: there is room for others."""

    def __init__(self, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        self.carried = 0
        self.of_caller: Counter[str] = Counter()
        self.relieved: Callable[[], object] = _nothing
        """Called when something was put down."""

    def has_room(self, size: int, mine: int = 0) -> bool:
        """For so much more; `mine` of what is carried belongs to the same message, and one alone is always taken."""
        return self.carried == mine or self.carried + size <= self.limit

    def has_share(self, size: int, caller: str, mine: int = 0) -> bool:
        """Whether the caller's own part, half of all at most, has room for so much more."""
        carried = self.of_caller[caller] if caller else mine
        return carried == mine or carried + size <= self.limit // 2

    def busy(self) -> Busy:
        return Busy(
            f"busy: too many large {self.what} at once, {self.limit} bytes at most", hint="try again in a moment"
        )


REQUESTS = Total("requests", MAX_REQUEST_BYTES)
ANSWERS = Total("answers", MAX_ANSWER_BYTES)
QUESTIONS = Total("questions", MAX_QUESTION_BYTES)


class Load:
    """One message's part, given back when it is put down."""

    def __init__(self, of: Total, size: int = 0, caller: str = "") -> None:
        """Raises Busy, as `add` does."""
        self._of = of
        self._size = 0
        self._caller = caller
        self.arrived = 0
        self.add(size)

    def add(self, size: int) -> None:
        of = self._of
        if not (of.has_room(size, self._size) and of.has_share(size, self._caller, self._size)):
            raise of.busy()
        of.carried += size
        self._size += size
        if self._caller:
            of.of_caller[self._caller] += size

    def arrive(self, size: int) -> None:
        """So much of it is here now; counted if that is more than was announced. Raises Busy."""
        self.arrived += size
        if self.arrived > self._size:
            self.add(self.arrived - self._size)

    def put_down(self) -> None:
        of, size = self._of, self._size
        if not size:
            return
        self._size = 0
        of.carried -= size
        if self._caller:
            of.of_caller[self._caller] -= size
            if not of.of_caller[self._caller]:
                del of.of_caller[self._caller]
        of.relieved()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.put_down()

"""The large messages we have in our hands, of all callers together: a bound in bytes that no crowd can pass.

Each bound on one message, or on one caller, still lets a thousand of them add up. Small messages are not counted: their
number is bounded elsewhere.
"""

from __future__ import annotations

from typing import Self

from clawft.errors import Busy

LARGE = 16 * 1024
"""From here on a message counts."""
MAX_REQUEST_BYTES = 16 * 1024 * 1024
"""Of large requests that come in or are being worked on. Each takes several times its size on its way through."""
MAX_ANSWER_BYTES = 24 * 1024 * 1024
"""Of large answers that their callers have not taken yet."""


class Total:
    """What is carried now, and may be."""

    def __init__(self, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        self.carried = 0
        self.blocked = 0
        """Callers on a pipe who do not take what is written for them."""


REQUESTS = Total("requests", MAX_REQUEST_BYTES)
ANSWERS = Total("answers", MAX_ANSWER_BYTES)


class Load:
    """One message's share, given back when it is put down. One alone is always taken: it has its own bound."""

    def __init__(self, of: Total, size: int = 0) -> None:
        """Raises Busy, as `add` does."""
        self._of = of
        self._size = 0
        self.add(size)

    def add(self, size: int) -> None:
        of = self._of
        if of.carried > self._size and of.carried + size > of.limit:
            raise Busy(
                f"busy: too many large {of.what} at once, {of.limit} bytes at most", hint="try again in a moment"
            )
        of.carried += size
        self._size += size

    def put_down(self) -> None:
        self._of.carried -= self._size
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.put_down()

"""How much of what a builder reports is kept: a result shows a few kilobytes, and a run could fill our memory."""

MAX_REPORTED_CHARS = 4 * 1024 * 1024
"""Of all findings, or all tests, of one run."""
MAX_OUTPUT_CHARS = 8 * 1024
"""Of what one test complains about: the last of it."""


class ReportRoom:
    """Bounded in items and in characters, as one item may be a line of a megabyte."""

    def __init__(self, items: int, chars: int = MAX_REPORTED_CHARS) -> None:
        self._items = items
        self._chars = chars

    def take(self, size: int) -> bool:
        """Whether there was room. The last one may be too large for it, so that it shows that something is missing."""
        if not self.is_left():
            return False
        self._items -= 1
        self._chars -= size
        return True

    def is_left(self) -> bool:
        return self._items > 0 and self._chars > 0

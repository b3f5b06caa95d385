"""Bounds how much of a builder's report is kept: a result shows a few kilobytes, and a run could fill the memory."""

MAX_REPORTED_CHARS = 4 * 1024 * 1024
"""Characters of all findings, or all tests, of one run."""
MAX_OUTPUT_CHARS = 8 * 1024
"""Characters of a test's error that are kept, from its end."""


class ReportLimit:
    """A bound on items and on characters, as one item may be a line of a megabyte."""

    def __init__(self, items: int, chars: int = MAX_REPORTED_CHARS) -> None:
        self._items = items
        self._chars = chars

    def take(self, size: int) -> bool:
        """Whether there was room. The last item may exceed it, to show that something is missing."""
        if not self.is_left():
            return False
        self._items -= 1
        self._chars -= size
        return True

    def is_left(self) -> bool:
        return self._items > 0 and self._chars > 0

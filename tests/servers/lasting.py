"""Servers that take long to start: one serves all tests of this process, and each sees only what it did for itself.

Such a server says READY, then a line for whatever it does; it says again what it is told, and ends with its input.
"""

import atexit
import os
import queue
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

READY_S = 60.0
ROOT = Path(__file__).parents[2]


class Lasting:
    """The running process. Keep it with `functools.cache`."""

    def __init__(self, words: Sequence[str | Path], **more: str) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            words,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **more},
        )
        self._marks: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        atexit.register(self._end)
        self._next_mark()

    def mark(self) -> int:
        """How many lines there are now. Everything it did before is among them: it does one thing after the other."""
        assert self._process.stdin is not None
        self._process.stdin.write("MARK\n")
        self._process.stdin.flush()
        return self._next_mark()

    def _next_mark(self) -> int:
        mark = self._marks.get(timeout=READY_S)
        assert mark is not None, "the server has ended"
        return mark

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self.lines.append(line.strip())
            if line.startswith(("READY", "MARK")):
                self._marks.put(len(self.lines))
        self._marks.put(None)

    def _end(self) -> None:
        self._process.kill()
        self._reading.join()
        self._process.communicate()


class Seen:
    """What it has said since now."""

    def __init__(self, server: Lasting) -> None:
        self._server = server
        self._since = server.mark()

    @property
    def lines(self) -> list[str]:
        return self._server.lines[self._since : self._server.mark()]
